// Live, of a watch: how many pages, visits and changes, and which page comes next.
import { el, fill, outside } from "../../lib/dom.js";
import { ago, number } from "../../lib/format.js";
import { facts } from "../../lib/parts.js";

const AGAIN_MS = 15_000;

export function watching(api, name) {
  const numbers = el("div", {});
  const next = el("div", {});
  const address = `#/c/${encodeURIComponent(name)}/changes`;
  const element = el("section", { class: "panel", "aria-label": "Watch", hidden: true }, el("h2", {}, "Watch"), numbers, next, el("p", {}, el("a", { href: address }, "What changed →")));
  let timer = 0;
  let running = false;

  function draw(watch) {
    element.hidden = !watch;
    if (!watch) return;
    fill(
      numbers,
      facts([
        ["pages watched", number(watch.pages)],
        ["visits by the watch", number(watch.visits)],
        ["changes found", number(watch.changes)],
        ["last visit", watch.last ? ago(watch.last) : "–"],
      ]),
    );
    if (watch.running === running) return;
    running = watch.running;
    if (running) ask();
    else {
      clearTimeout(timer);
      fill(next);
    }
  }

  async function ask() {
    clearTimeout(timer);
    try {
      const found = await api.get(api.path(name, "watched/next"), { count: 1 });
      const row = found.rows[0];
      if (running) fill(next, row && el("p", {}, "Next visit: ", row.next_at <= Date.now() / 1000 + 5 ? "due now" : ago(row.next_at), ", ", outside(row.url)));
    } catch (error) {
      if (error?.name === "AbortError") return; // the screen is left; else the next look may succeed
    }
    if (running) timer = setTimeout(ask, AGAIN_MS);
  }

  return { element, draw, stop: () => { running = false; clearTimeout(timer); } };
}
