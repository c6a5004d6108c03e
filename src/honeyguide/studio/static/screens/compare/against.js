// Two generations on the same pages: where they differ.
import { el, fill, outside } from "../../lib/dom.js";
import { count, number, score } from "../../lib/format.js";
import { button, field, select } from "../../lib/parts.js";

export function against(api, name, found) {
  const known = found.rows.filter((row) => row.whole).map((row) => [String(row.number), `generation ${row.number}${row.live ? " (active)" : ""}`]).reverse();
  const one = select(known, known[1]?.[0]);
  const other = select(known, known[0][0]);
  const place = el("div", { "aria-live": "polite" });

  async function compare() {
    fill(place, el("p", { class: "loading" }, "Both score the same pages …"));
    try {
      const said = await api.get(api.path(name, "generations/compare"), { one: one.value, other: other.value });
      fill(place, told(said));
    } catch (error) {
      fill(place);
      throw error;
    }
  }

  function told(said) {
    return [
      el("p", {}, `Of ${count(said.pages, "page")}, ${count(said.changed, "changes", "change")} between relevant and not relevant.`),
      said.errors && el("p", {}, `Mean squared error on ${count(said.labels, "label")}: generation ${said.one} ${number(said.errors[0], 3)}, generation ${said.other} ${number(said.errors[1], 3)} (less is better).`),
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Pages with the most different scores" }, el(
        "table",
        {},
        el("thead", {}, el("tr", {}, ["page", String(said.one), String(said.other), "label"].map((word, at) => el("th", { scope: "col", class: at ? "number" : "" }, word)))),
        el("tbody", {}, said.moved.map((row) => el("tr", {}, el("td", {}, outside(row.url)), el("td", { class: "number" }, score(row.one)), el("td", { class: "number" }, score(row.other)), el("td", { class: "number" }, row.label === null ? "–" : score(row.label))))),
      )),
    ];
  }

  return el(
    "section",
    { class: "panel", "aria-label": "Two generations" },
    el("h2", {}, "Two generations on the same pages"),
    el("div", { class: "toolbar" }, field("One", one), field("the other", other), button("Compare", compare)),
    place,
  );
}
