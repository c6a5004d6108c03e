// Everything that was found: search by words, filter, sort, open a page, take the selection along.
// What is chosen stands in the address, so that a selection can be kept as a bookmark.
import { el, fill, marked } from "../lib/dom.js";
import { ago, number, percent, score } from "../lib/format.js";
import * as keys from "../lib/keys.js";
import { dialog, empty, field, notice, select, toast, waiting } from "../lib/parts.js";
import * as table from "../lib/table.js";
import { language } from "./live.js";

const SORTS = { verdict: ["worst", "best"], at: ["oldest", "newest"] }; // ascending, descending
const ORDERS = [["match", "best match first"], ["newest", "newest first"], ["oldest", "oldest first"], ["best", "best verdict first"], ["worst", "lowest verdict first"], ["changed", "changed last first"]];
const FILTERS = ["words", "kind", "least", "most", "label", "host", "language", "since", "until", "changed"];
const PAUSE_MS = 350; // after the last key, before asking

export async function show(main, params, api) {
  // sort "": the best match where there are words, else the newest.
  const chosen = Object.fromEntries([...FILTERS, "sort"].map((key) => [key, params.query[key] ?? ""]));
  if (!ORDERS.some(([key]) => key === chosen.sort)) chosen.sort = "";
  const choices = await api.get(api.path(params.name, "choices"));
  const progress = el("div", { role: "status" });
  const count = el("span", { class: "muted", role: "status" });
  let timer = 0;
  let poll = 0;
  let reading = false;

  const order = () => (chosen.sort && (chosen.sort !== "match" || chosen.words.trim()) ? chosen.sort : chosen.words.trim() ? "match" : "newest");
  const query = () => ({ ...chosen, sort: order(), since: moment(chosen.since), until: moment(chosen.until, 1), least: chance(chosen.least), most: chance(chosen.most) });

  const rows = table.make({
    label: "Pages",
    key: (row) => row.visit,
    limit: 50,
    cards: true,
    ordered: (key, descending) => { chosen.sort = SORTS[key][descending ? 1 : 0]; keep(); },
    columns: [
      { key: "title", title: "Page", class: "wide", cell: (row) => page(row, address(params.name, row, chosen)) },
      { key: "verdict", title: "Verdict", sort: true, number: true, cell: (row) => [row.verdict === null ? "–" : score(row.verdict)] },
      { key: "label", title: "Label", cell: (row) => said(row) },
      { key: "language", title: "Language", cell: (row) => (row.language ? language(row.language) : "–") },
      { key: "at", title: "Fetched", sort: true, number: true, cell: (row) => ago(row.at) },
    ],
    load: async ({ after, limit }) => {
      const found = await api.get(api.path(params.name, "visits"), { ...query(), after, limit });
      tell(found);
      return { rows: found.rows, next: found.next || null, total: found.more ? null : found.total };
    },
    empty: () => (reading ? waiting("Reading the collection …") : nothing(params.name, chosen)),
    open: (row) => { location.hash = address(params.name, row, chosen); },
  });

  function tell(found) {
    fill(count, `${found.more ? "more than " : ""}${number(found.total)} ${found.total === 1 && !found.more ? "visit" : "visits"}`);
    const { visits, facts, texts, done, trouble } = found.indexed;
    reading = !done && !trouble;
    fill(
      progress,
      trouble ? el("div", { class: "notice warn" }, el("p", {}, trouble)) : null,
      reading
        ? el("p", { class: "muted" }, visits ? `Reading the collection: ${percent(facts / visits)} listed, words of ${percent(texts / visits)} searchable. ` : "",
            visits ? el("progress", { max: String(visits), value: texts, "aria-label": "Indexed" }) : null)
        : null,
    );
    clearTimeout(poll);
    if (reading) poll = setTimeout(() => { if (!rows.element.contains(document.activeElement)) rows.refresh(); }, 2000);
  }

  const changed = (key, value) => {
    chosen[key] = value;
    clearTimeout(timer);
    timer = setTimeout(() => {
      keep();
      rows.reload();
    }, PAUSE_MS);
  };
  // The address, the control and the headings say the same order.
  function keep() {
    const frame = document.getElementById("main");
    history.replaceState(null, "", here(params.name, chosen));
    if (frame.dataset.shown !== undefined) frame.dataset.shown = location.hash; // this stands here now
    ordering.value = order();
    ordering.options[0].disabled = !chosen.words.trim();
    const [key, ways] = Object.entries(SORTS).find(([, each]) => each.includes(order())) ?? [null, []];
    rows.arrange(key, ways[1] === order());
  }
  const ordering = select(ORDERS, "newest", (value) => changed("sort", value === "match" ? "" : value));
  const input = (key, attrs) => el("input", { ...attrs, value: chosen[key], on: { input: (event) => changed(key, event.target.value) } });
  const words = input("words", { type: "search", maxlength: "300", size: "32", placeholder: 'beekeeping "royal jelly" -shop' });
  const names = el("datalist", { id: "hosts-known" }, choices.hosts.map((name) => el("option", { value: name })));
  const filters = el(
    "details",
    { open: FILTERS.slice(2).some((key) => chosen[key]) },
    el("summary", {}, "Filters"),
    el(
      "div",
      { class: "toolbar" },
      field("Verdict from", input("least", { type: "number", min: "0", max: "1", step: "0.05" })),
      field("to", input("most", { type: "number", min: "0", max: "1", step: "0.05" })),
      field("Label", select([["", "any or none"], ["any", "labelled"], ["good", "relevant"], ["bad", "not relevant"], ["none", "not labelled"]], chosen.label, (value) => changed("label", value))),
      field("Host", input("host", { list: "hosts-known", autocomplete: "off", maxlength: "300" })),
      names,
      field("Language", select([["", "any"], ...Object.entries(choices.languages).map(([code, n]) => [code, `${language(code)} (${number(n)})`])], chosen.language, (value) => changed("language", value))),
      field("Fetched from", input("since", { type: "date" })),
      field("to", input("until", { type: "date" })),
      field("Only pages that changed", el("input", { type: "checkbox", checked: chosen.changed === "true", on: { change: (event) => changed("changed", event.target.checked ? "true" : "") } })),
    ),
  );
  fill(
    main,
    el("h1", {}, "Collection"),
    el(
      "form",
      { class: "toolbar", role: "search", on: { submit: (event) => { event.preventDefault(); clearTimeout(timer); keep(); rows.reload(); } } },
      field("Words", words),
      field("Show", select([["page", "pages"], ["relevant", "relevant pages"], ["other", "other pages"], ["failed", "failures"], ["all", "every visit"]], chosen.kind || "page", (value) => changed("kind", value))),
      field("Order", ordering),
      el("button", { type: "button", on: { click: () => take(params.name, api, query(), reading) } }, "Export …"),
      count,
    ),
    filters,
    progress,
    rows.element,
  );
  keep();
  await rows.reload();
  const unbind = keys.bind("Collection", { "/": ["search", () => words.focus()] });
  return () => {
    clearTimeout(timer);
    clearTimeout(poll);
    unbind();
  };
}

function page(row, to) {
  const cell = el("div", {},
    el("a", { href: to }, row.title || row.url.slice(0, 120)),
    el("div", { class: "address muted" }, row.url.slice(0, 160)),
    row.snippet ? el("div", { class: "muted" }, marked(row.snippet, row.marks)) : null,
    row.failure ? el("span", { class: "chip bad" }, row.failure) : null,
    row.copy_of ? el("span", { class: "chip" }, "a copy") : null,
  );
  return cell;
}

function said(row) {
  if (row.label !== null) return el("span", { class: ["chip", row.label >= 0.5 ? "good" : "bad"] }, row.label >= 0.5 ? "relevant" : "not relevant");
  return row.relevant ? el("span", { class: "muted" }, "relevant by verdict") : "–";
}

// A page knows what was chosen, so that it leads back to it.
function address(name, row, chosen) {
  const from = String(pairs(chosen));
  return `#/c/${encodeURIComponent(name)}/page?visit=${row.visit}${from ? `&from=${encodeURIComponent(from)}` : ""}`;
}

function pairs(chosen) {
  return new URLSearchParams(Object.entries(chosen).filter(([, value]) => value));
}

function here(name, chosen) {
  const query = String(pairs(chosen));
  return `#/c/${encodeURIComponent(name)}/collection${query ? `?${query}` : ""}`;
}

function nothing(name, chosen) {
  if (FILTERS.some((key) => chosen[key])) return empty("Nothing found", "No visit matches. Remove a filter, or use other words.");
  return empty("Nothing here yet", "When the crawl has fetched pages, they are listed here.", el("a", { class: "button", href: `#/c/${encodeURIComponent(name)}/live` }, "See the live screen"));
}

// A day as people choose it, in their own time → seconds since 1970.
function moment(day, more = 0) {
  if (!day) return "";
  const [year, month, date] = day.split("-").map(Number);
  const at = new Date(year, month - 1, date + more).getTime() / 1000;
  return Number.isFinite(at) && at >= 0 ? at : "";
}

function chance(text) {
  const value = Number(text);
  return text === "" || !Number.isFinite(value) ? "" : Math.min(1, Math.max(0, value));
}

function take(name, api, query, reading) {
  const form = select([["csv", "CSV (spreadsheets)"], ["jsonl", "JSON lines"], ["parquet", "Parquet (needs pyarrow)"]], "csv");
  const text = el("input", { type: "checkbox" });
  // The address is made when it is wanted: its pass does not last as long as people think.
  const save = async () => {
    try {
      const href = await api.pass(api.path(name, "export"), { ...query, format: form.value, text: text.checked });
      el("a", { href, download: "" }).click();
    } catch (error) {
      if (error?.name !== "AbortError") toast(error.message, "error");
    }
  };
  const link = el("button", { type: "button", class: "primary", on: { click: save } }, "Save the file");
  dialog("Export this selection", field("As", form), field("With the pages' texts", text), el("p", { class: "muted" }, "All visits that match the filters, in the order shown; every page of the list."), reading ? notice("warn", "The collection is still being indexed: visits that are not listed yet are not in the file.") : null, link);
}
