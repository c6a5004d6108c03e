// The significance slider: what another threshold would have told, from the changes that were kept.
import * as chart from "../../lib/chart.js";
import { el, fill } from "../../lib/dom.js";
import { count, number } from "../../lib/format.js";
import { failed, field, select } from "../../lib/parts.js";

const SPANS = [["7", "last week"], ["1", "last day"], ["30", "last month"]];

// filter(least): show only changes of at least this significance in the feed.
export function trial(api, name, filter) {
  const words = el("output", { role: "status" });
  const place = el("div", {});
  const hint = el("p", { class: "muted" });
  const slider = el("input", { type: "range", min: "0", max: "100", step: "1", value: "2", on: { input: () => tell(), change: () => filter(Number(slider.value) / 100) } });
  const value = el("strong", {});
  const rules = el("div", {});
  const body = el("div", {}, rules, field("Least significance", slider, "Also filters the changes in the list."), el("p", {}, value, " ", words), place, hint);
  const element = el("section", { class: "panel", "aria-label": "Least significance" }, el("h2", {}, "What is worth a message?"), body);
  let found = null;
  let plot = null;
  let days = "7";
  let rule = 0;

  function tell() {
    const at = Number(slider.value);
    value.textContent = (at / 100).toFixed(2);
    slider.setAttribute("aria-valuetext", `${(at / 100).toFixed(2)}`);
    if (!found) return;
    const span = SPANS.find(([key]) => key === days)[1];
    const now = found.rules[found.rule];
    words.textContent = `With this threshold ${count(found.told[at], "change")} would have been sent in the ${span} (of ${number(found.changes)} in all).`;
    hint.textContent = [
      now.narrow && "The rule also requires certain words or pages: it sends fewer than that.",
      found.told[at] > 1 && "Changes found together share a message.",
      Math.round(now.significance * 100) !== at && `To keep it: significance = ${(at / 100).toFixed(2)} under [[notify]] in topic.toml (now ${now.significance.toFixed(2)}).`,
    ].filter(Boolean).join(" ");
    plot?.update({ marks: [{ x: at / 100, label: "" }] });
  }

  async function refresh(least = null) {
    try {
      found = await api.get(api.path(name, "changes/trial"), { days, rule });
    } catch (error) {
      if (error?.name !== "AbortError") fill(place, failed(error));
      return;
    }
    if (least !== null) slider.value = String(Math.round((Number(least) || found.rules[found.rule].significance) * 100));
    fill(
      rules,
      el("div", { class: "toolbar" }, field("Over the", select(SPANS, days, (next) => { days = next; refresh(); })), found.rules.length > 1 && field("Rule", select(found.rules.map((one, at) => [String(at), one.name]), String(found.rule), (next) => { rule = Number(next); refresh(); }))),
    );
    const data = { x: found.told.map((_, at) => at / 100), series: [{ label: "changes sent", values: found.told }], marks: [{ x: Number(slider.value) / 100, label: "" }] };
    if (!found.changes) {
      plot?.stop();
      plot = null;
      fill(place);
    } else if (plot) plot.update(data);
    else plot = chart.lines(place, { label: "Changes sent by least significance", xLabel: "least significance", height: 140, ...data });
    tell();
  }

  return { element, refresh, stop: () => plot?.stop() };
}
