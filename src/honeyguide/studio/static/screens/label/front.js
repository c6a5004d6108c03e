// The frontier's top, and result of the last labels in it: beside how it stood when you began
// to answer, as soon as another generation decides.
import { el, fill } from "../../lib/dom.js";
import { ago, score } from "../../lib/format.js";

const AGAIN_MS = 2000;
const SHOWN = 10;
const PAUSE_MS = 15_000; // after a pause this long, answers are a new beginning

export function front(api, name) {
  const body = el("div", {});
  const element = el("section", { class: "panel", "aria-label": "Next in line" }, el("h2", {}, "Next in line"), body);
  let now = null;
  let before = null; // how it stood at the first of the last answers
  let answeredAt = 0;
  let drawn = "";
  const timer = setInterval(() => { if (!document.hidden) refresh(); }, AGAIN_MS);

  async function refresh() {
    let found;
    try {
      found = await api.get(api.path(name, "label/top"));
    } catch {
      return; // the next look may succeed; the questions are what matters here
    }
    now = found;
    const shape = JSON.stringify([found.fresh, found.generation, found.top, before?.generation]);
    if (shape !== drawn) {
      drawn = shape;
      draw();
    }
  }

  // A person answered: from here on, what changes is result of it.
  function answered() {
    if (now && Date.now() - answeredAt > PAUSE_MS) before = now;
    answeredAt = Date.now();
  }

  const changed = () => before !== null && before.generation !== now.generation;

  function draw() {
    if (now.at === null) return fill(body, el("p", { class: "muted" }, "While a crawl is running, this shows which links go first, and how your labels change that."));
    const places = new Map((changed() ? before.top : []).map((one, at) => [one.url, [at, one.score]]));
    const fresh = now.top.filter((one) => !places.has(one.url)).length;
    fill(
      body,
      el("p", { class: "muted", role: "status" }, headline(fresh)),
      now.top.length
        ? el("ol", { class: "plain" }, now.top.slice(0, SHOWN).map((one, at) => line(one, at, places.get(one.url))))
        : el("p", { class: "muted" }, "No link is waiting."),
    );
  }

  function headline(fresh) {
    if (!now.fresh) return ["No crawl is running: labels take effect when it continues. The frontier as of ", ago(now.at), "."];
    if (!changed()) return `Generation ${now.generation} is active. ${before ? "The next one is trained on your labels, and the change shows here." : "After your labels the next one is trained, and the change shows here."}`;
    return `Since your labels, generation ${before.generation} → ${now.generation}: ${fresh} of the first ${now.top.length} links are new there.`;
  }

  function line(one, at, was) {
    let moved = null;
    if (changed() && !was) moved = el("span", { class: "chip good" }, "new here");
    else if (was && was[0] > at) moved = el("span", { class: "chip good" }, `↑ ${was[0] - at}`);
    else if (was && was[0] < at) moved = el("span", { class: "chip" }, `↓ ${at - was[0]}`);
    const scores = was && Math.abs(was[1] - one.score) >= 0.005 ? `${score(was[1])} → ${score(one.score)}` : score(one.score);
    return el("li", {}, el("span", { class: "address", title: one.url }, (one.anchor || one.url).slice(0, 90)), " ", el("small", {}, scores), " ", moved);
  }

  return { element, refresh, answered, stop: () => clearInterval(timer) };
}
