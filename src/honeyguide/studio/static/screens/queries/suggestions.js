// What is worth asking next, why, and a button that asks it.
import { el, outside } from "../../lib/dom.js";
import { percent } from "../../lib/format.js";
import { button, empty, into } from "../../lib/parts.js";

const SHOWN = 5;

export function suggestions(api, name, run) {
  const list = el("div", {});

  async function load() {
    await into(list, async () => {
      const found = await api.get(api.path(name, "queries/suggestions"), { number: SHOWN });
      if (!found.rows.length) return empty("Nothing to suggest yet", found.why);
      return [el("p", { class: "muted" }, found.why), el("ul", { class: "cards" }, found.rows.map(card))];
    });
  }

  function card(row) {
    const known = row.expected !== null;
    const bar = known && el("span", { class: "bar", "aria-hidden": "true" });
    if (bar) bar.style.width = `${Math.max(1, 100 * row.expected)}%`;
    const item = el("li", { class: "card" },
      el("div", { class: "row spread" },
        el("strong", {}, row.query),
        button("Run", async () => { await run(row.query); item.remove(); }, { title: `Ask for ${row.query}` })),
      el("div", { title: "expected mean verdict of its results" }, el("small", {}, known ? `${percent(row.expected)} expected` : "its results are not known yet"), bar),
      row.why && el("small", {}, row.why),
      row.pages.length > 0 && el("details", {}, el("summary", {}, el("small", {}, `made from ${row.pages.length} ${row.pages.length === 1 ? "page" : "pages"}`)),
        el("ul", {}, row.pages.map((page) => el("li", {}, outside(page.url, page.title))))));
    return item;
  }

  return {
    element: el("div", { class: "stack" }, list, el("div", {}, button("Suggest again", load))),
    load,
  };
}
