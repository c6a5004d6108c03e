// A table whose rows come from the server, a page at a time.
//
//   const rows = table.make({
//     label: "Visits",
//     columns: [
//       {key: "url", title: "Address", cell: (row) => outside(row.url)},
//       {key: "score", title: "Score", sort: true, number: true, cell: (row) => score(row.score)},
//     ],
//     load: async ({sort, descending, after, limit}) =>
//       api.get(path, {sort, descending, after, limit}),       // → {rows, next, total?}
//     sort: "score", descending: true, limit: 50,
//     empty: () => empty("Nothing found", "…"),
//     open: (row) => { location.hash = … },                    // Enter or click on a row
//     cards: true,                                             // on a phone each row is a card
//     ordered: (sort, descending) => …,                        // a heading was pressed
//   });
//   main.append(rows.element);  rows.reload();  // again from the first page: after a filter changed
//
// Paging is by keyset: `next` is whatever the server wants to get back as `after` (null: no more).
// Without `load`, give `rows`: they are sorted here. rows.set(list) replaces those.
import { el, fill, say } from "./dom.js";
import { failed, waiting } from "./parts.js";
import { number } from "./format.js";

const PATIENCE_MS = 300;

export function make(options) {
  const { columns, label, limit = 50, open = null } = options;
  let { sort = null, descending = true } = options;
  let given = options.rows ?? null;
  let cursors = [null]; // of the pages up to this one
  let turn = 0; // an older answer must not overwrite a newer one

  const heads = columns.map((column) =>
    el(
      "th",
      { scope: "col", role: "columnheader", class: column.number ? "number" : column.class },
      column.sort
        ? el("button", { type: "button", on: { click: () => by(column) } }, column.title)
        : column.title || el("span", { class: "visually-hidden" }, column.said ?? "Actions"),
    ),
  );
  const body = el("tbody", { role: "rowgroup" });
  const foot = el("nav", { class: "pages", "aria-label": `Pages of ${label}`, hidden: true });
  // Roles, because what is laid out as cards is no table to the browser any more.
  const grid = el("table", { class: ["rows", open && "open", options.cards && "cards-narrow"], role: "table" }, el("caption", { class: "visually-hidden" }, label), el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads)), body);
  // A region that scrolls must be reachable with the keyboard.
  const scroll = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, grid);
  const note = el("div", {});
  const element = el("div", { class: "table" }, scroll, note, foot);

  function by(column) {
    descending = sort === column.key ? !descending : column.number ?? false;
    sort = column.key;
    options.ordered?.(sort, descending);
    first();
  }

  function first() {
    cursors = [null];
    return show();
  }

  function headings() {
    columns.forEach((column, index) => {
      if (!column.sort) return;
      if (column.key === sort) heads[index].setAttribute("aria-sort", descending ? "descending" : "ascending");
      else heads[index].removeAttribute("aria-sort");
    });
  }

  async function show() {
    turn += 1;
    const mine = turn;
    headings();
    if (given) return draw(local(), null, given.length);
    const patience = setTimeout(() => {
      element.classList.add("waiting");
      if (!body.hasChildNodes()) fill(note, waiting());
    }, PATIENCE_MS);
    try {
      const found = await options.load({ sort, descending, after: cursors.at(-1), limit });
      if (mine === turn) draw(found.rows ?? [], found.next ?? null, found.total ?? null);
    } catch (error) {
      if (error?.name === "AbortError" || mine !== turn) return;
      fill(body);
      fill(note, failed(error, show));
    } finally {
      clearTimeout(patience);
      if (mine === turn) element.classList.remove("waiting");
    }
  }

  function local() {
    const column = columns.find(({ key }) => key === sort);
    if (!column) return given;
    const value = column.value ?? ((row) => row[column.key]);
    const way = descending ? -1 : 1;
    return [...given].sort((a, b) => {
      const [one, other] = [value(a), value(b)];
      if (one === other) return 0;
      if (one === null || one === undefined) return 1; // unknown: last, either way
      if (other === null || other === undefined) return -1;
      return typeof one === "string" ? way * one.localeCompare(String(other)) : way * (one - other);
    });
  }

  function draw(rows, next, total) {
    fill(note, rows.length ? null : (options.empty?.() ?? el("p", { class: "empty" }, "Nothing here.")));
    scroll.hidden = rows.length === 0;
    const focused = document.activeElement?.closest?.("tr")?.dataset.key;
    fill(body, rows.map(line));
    if (focused !== undefined) body.querySelector(`tr[data-key="${CSS.escape(focused)}"]`)?.focus();
    pages(rows.length, next, total);
  }

  function line(row) {
    const key = options.key?.(row);
    const node = el(
      "tr",
      { role: "row", dataset: key === undefined ? {} : { key }, class: options.mark?.(row) },
      columns.map((column) => el("td", { role: "cell", class: [column.number && "number", column.class], "data-title": column.title }, column.cell ? column.cell(row) : (row[column.key] ?? "–"))),
    );
    if (open) {
      node.tabIndex = 0;
      const go = (event) => {
        if (event.target.closest("a, button, input, select")) return;
        open(row, event);
      };
      node.addEventListener("click", (event) => {
        if (String(getSelection()) === "") go(event);
      });
      node.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && event.target === node) go(event);
      });
    }
    return node;
  }

  function pages(count, next, total) {
    const page = cursors.length;
    foot.hidden = page === 1 && next === null;
    const from = (page - 1) * limit + 1;
    const words = `${number(from)}–${number(from + count - 1)}` + (total === null ? "" : ` of ${number(total)}`);
    fill(
      foot,
      el("button", { type: "button", disabled: page === 1, on: { click: () => turnTo(() => cursors.pop()) } }, "← Previous"),
      el("span", { class: "where" }, words),
      el("button", { type: "button", disabled: next === null, on: { click: () => turnTo(() => cursors.push(next)) } }, "Next →"),
    );
    if (page > 1) say(`Rows ${words}`);
  }

  async function turnTo(step) {
    step();
    await show();
    scroll.scrollTop = 0;
    if (element.getBoundingClientRect().top < 0) element.scrollIntoView({ block: "start" });
  }

  if (given) show();
  return {
    element,
    reload: first,
    refresh: show, // the same page again
    set(rows) {
      given = rows;
      return show();
    },
    // Sorted by this from now on, when it is loaded next.
    arrange(key, way = true) {
      sort = key;
      descending = way;
    },
  };
}
