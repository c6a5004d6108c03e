// Testing seeds: each is asked for once, and result is said beside it.
import { el, fill, outside } from "../../lib/dom.js";
import { number } from "../../lib/format.js";
import { button, notice } from "../../lib/parts.js";

const AT_ONCE = 5;

// given: () => ({seeds, contact, lab})
export function tester(api, given) {
  const place = el("div", { "aria-live": "polite" });
  const press = button("Test the seeds", async () => {
    const { seeds, contact, lab } = given();
    if (!seeds.length) return fill(place, notice("warn", "There are no seeds yet: write one address a line."));
    if (!contact) return fill(place, notice("warn", "Write a contact first (below): sites are told who asks."));
    const rows = el("tbody");
    const wait = el("p", { class: "loading" });
    fill(place, el("table", {}, el("thead", {}, el("tr", {}, ["seed", "", "result", "words", "links"].map((title) => el("th", { scope: "col" }, title)))), rows), wait);
    for (let at = 0; at < seeds.length; at += AT_ONCE) {
      fill(wait, `Asking ${at + 1} to ${Math.min(at + AT_ONCE, seeds.length)} of ${seeds.length} …`);
      try {
        const tried = await api.post("/api/seeds", { seeds: seeds.slice(at, at + AT_ONCE), contact, lab });
        rows.append(...tried.map(row));
      } catch (error) {
        return fill(wait, notice("error", error.message));
      }
    }
    fill(wait);
  });
  return el("div", { class: "stack" }, el("div", { class: "row" }, press), place);
}

function row(one) {
  return el("tr", {},
    el("td", {}, one.url ? outside(one.url) : one.seed),
    el("td", {}, el("span", { class: ["chip", one.ok ? "good" : "bad"] }, one.ok ? "fine" : "no page")),
    el("td", {}, one.said),
    el("td", { class: "number" }, one.ok ? number(one.words) : ""),
    el("td", { class: "number" }, one.ok ? number(one.links) : ""),
  );
}
