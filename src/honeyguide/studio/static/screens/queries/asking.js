// A person's own query: asked at once, or left for the crawl that runs; its results with scores.
import { add, el, fill, outside } from "../../lib/dom.js";
import { number, score } from "../../lib/format.js";
import { button, empty, field, notice } from "../../lib/parts.js";

export function asking(api, name, changed) {
  const query = el("input", { type: "search", maxlength: "400", autocomplete: "off", name: "query" });
  const out = el("div", { "aria-live": "polite" });
  const form = el(
    "form",
    { on: { submit: (event) => { event.preventDefault(); go.click(); } } },
    field("Query", query, "As you would type it into a search engine. It costs one request."),
  );
  const go = button("Ask", () => run(query.value), { kind: "primary" });
  const check = button("Test the engine", test, { title: "One request, to check that its address and key work" });
  add(form, el("div", { class: "row" }, go, check));

  async function run(text) {
    if (!text.trim()) return query.focus();
    query.value = text;
    fill(out, el("p", { class: "muted" }, "Asking …"));
    try {
      const came = await api.post(api.path(name, "queries"), { query: text.trim() });
      fill(out, told(came, name));
    } catch (error) {
      fill(out, notice("error", error.message));
    }
    await changed();
  }

  async function test() {
    fill(out, el("p", { class: "muted" }, "Asking …"));
    try {
      const came = await api.post(api.path(name, "queries/test"), {});
      fill(out, notice(came.ok ? "good" : "error", came.said));
    } catch (error) {
      fill(out, notice("error", error.message));
    }
  }

  return { element: el("div", { class: "stack" }, form, out), run, focus: () => query.focus() };
}

function told(came, name) {
  if (came.left) return notice("good", came.said);
  const note = came.failed && notice("warn", came.failed);
  if (!came.results.length) return [note, !came.failed && empty("Nothing found", "The engine found no page for these words. Use fewer or other ones.")];
  return [
    note,
    el("p", { role: "status" }, came.said),
    el("ol", { class: "stack" }, came.results.map((row) => el("li", {}, result(row, name)))),
  ];
}

function result(row, name) {
  return [
    el("div", {}, outside(row.url, row.title)),
    row.title && el("div", { class: "address muted" }, row.url.slice(0, 120)),
    row.snippet && el("p", { class: "muted" }, row.snippet),
    el("div", { class: "row" },
      el("span", { class: "chip", title: "expected verdict, 0 to 1" }, score(row.score)),
      row.known && el("a", { class: "chip", href: `#/c/${encodeURIComponent(name)}/page?url=${encodeURIComponent(row.url)}` }, row.verdict === null ? "visited before" : `visited, ${number(row.verdict, 2)}`)),
  ];
}
