// The next visits of the watch, and why each is then.
import { el, fill, outside } from "../../lib/dom.js";
import { ago, count } from "../../lib/format.js";
import { button, dialog, failed, field, toast } from "../../lib/parts.js";

const AGAIN_MS = 15_000;
const SOON_MS = 1_000; // it is being worked out
const SHOWN = 12;

export function visits(api, name) {
  const body = el("div", {});
  const address = el("input", { type: "url", placeholder: "https://example.org/page", maxlength: "4096", required: true });
  const form = el("form", { class: "toolbar", on: { submit: (event) => { event.preventDefault(); add(); } } }, field("Watch a page", address), el("button", {}, "Add"));
  const element = el("section", { class: "panel", "aria-label": "Next visits" }, el("h2", {}, "Next visits"), body, form);
  let timer = 0;
  let stopped = false;

  async function refresh() {
    clearTimeout(timer);
    let again = AGAIN_MS;
    try {
      const found = await api.get(api.path(name, "watched/next"), { count: SHOWN });
      if (found.at === null && found.watched) again = SOON_MS;
      if (!body.contains(document.activeElement)) fill(body, list(found));
    } catch (error) {
      if (error?.name === "AbortError") return;
      fill(body, failed(error));
    }
    if (!stopped) timer = setTimeout(refresh, again);
  }

  function list(found) {
    if (!found.watched) return el("p", { class: "muted" }, "Nothing is watched. Relevant pages are added by themselves when a watch runs.");
    if (found.at === null) return el("p", { class: "loading", role: "status" }, `Computing the schedule of ${count(found.watched, "page")} …`);
    return [
      el("p", { class: "muted" }, `${count(found.watched, "page is", "pages are")} watched. Computed `, ago(found.at), "; a running watch may differ a little."),
      el("ul", { class: "plain" }, found.rows.map(line)),
    ];
  }

  function line(row) {
    return el(
      "li",
      {},
      row.next_at <= Date.now() / 1000 + 5 ? "due now" : ago(row.next_at), " ", outside(row.url, row.url.slice(0, 70)), " ",
      button("Why?", () => why(row), { kind: "quiet", title: "Why at that time?" }),
    );
  }

  async function why(row) {
    const found = await api.get(api.path(name, "watched/why"), { url: row.url });
    const close = dialog(
      "Why at that time?",
      el("p", {}, outside(row.url)),
      el("p", {}, found.reason.slice(0, 1).toUpperCase(), found.reason.slice(1), "."),
      row.note && el("p", { class: "muted" }, row.note),
      el("div", { class: "row" },
        button("Pause", () => speak("pause", row.url, close)),
        button("Stop watching", () => speak("remove", row.url, close), { kind: "danger" }),
        button("Double the weight", () => speak("weight", row.url, close, Math.min(1000, 2 * row.weight))),
      ),
    );
  }

  async function speak(action, url, close, weight = undefined) {
    await api.post(api.path(name, "watched"), { action, urls: [url], weight });
    close();
    const back = { pause: "resume", remove: "resume" }[action];
    const said = { pause: "Paused.", remove: "It is no longer watched.", weight: "Its weight is doubled.", resume: "Watched again." }[action];
    toast(said, "good", back ? { undo: () => speak(back, url, () => {}).catch((error) => toast(error.message, "error")) } : {});
    refresh();
  }

  async function add() {
    try {
      await api.post(api.path(name, "watched"), { action: "add", urls: [address.value] });
      toast("It is now watched.", "good");
      address.value = "";
      refresh();
    } catch (error) {
      if (error?.name !== "AbortError") toast(error.message, "error");
    }
  }

  return { element, refresh, stop: () => { stopped = true; clearTimeout(timer); } };
}
