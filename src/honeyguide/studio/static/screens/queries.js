// Queries: what search engines were asked and what it brought, what is worth asking next, and a
// person's own queries.
import { el, fill } from "../lib/dom.js";
import { ago, number, percent } from "../lib/format.js";
import * as keys from "../lib/keys.js";
import { empty, facts, notice } from "../lib/parts.js";
import * as table from "../lib/table.js";
import { asking } from "./queries/asking.js";
import { suggestions } from "./queries/suggestions.js";

const AGAIN_MS = 5000;
const MODES = { joint: "links and searches", search_only: "search results only" };

export async function show(main, params, api) {
  const path = (rest) => api.path(params.name, rest);
  const first = await api.get(path("queries"));
  const heading = el("h1", {}, "Queries");
  if (!first.engine.name) {
    fill(main, heading, unset(first));
    return undefined;
  }

  const engine = el("div", {});
  const trouble = el("div", { "aria-live": "polite" });
  const wanted = el("div", {});
  const rows = grid();
  const ask = asking(api, params.name, () => look());
  const ideas = suggestions(api, params.name, (query) => ask.run(query));
  fill(
    main,
    heading,
    trouble,
    engine,
    el("div", { class: "split" },
      el("div", {},
        el("section", { class: "panel" }, el("h2", {}, "Your own query"), ask.element),
        el("section", { class: "panel" }, el("h2", {}, "Asked so far"), wanted, rows.element)),
      el("section", { class: "panel" }, el("h2", {}, "Suggested queries"), ideas.element)),
  );

  const drawn = {};
  // Only what differs is touched: a selection, or a screen reader, is not disturbed for nothing.
  const part = (key, value, make) => {
    const now = JSON.stringify(value);
    if (drawn[key] === now) return;
    drawn[key] = now;
    make();
  };
  const draw = (state) => {
    part("engine", [state.engine, state.spent, state.running, state.rows.length], () => fill(engine, standing(state)));
    part("trouble", [state.engine.problem, state.trouble], () => fill(trouble, problems(state)));
    part("wanted", [state.wanted, state.running], () => fill(wanted, waiting(state)));
    part("rows", state.rows, () => rows.set(state.rows.map((row) => ({ ...row, yield: row.fetched ? row.relevant / row.fetched : null }))));
  };
  async function look() {
    draw(await api.get(path("queries")));
  }

  draw(first);
  ideas.load();
  const timer = setInterval(() => {
    if (!document.hidden) look().catch(() => {}); // told by what is pressed next
  }, AGAIN_MS);
  const unbind = keys.bind("Queries", { q: ["write a query", () => ask.focus()] });
  return () => {
    clearInterval(timer);
    unbind();
  };
}

function unset(state) {
  return empty(
    "No search engine is set",
    "Forums and blogs hardly link to each other; a search engine reaches those that no link leads to. " +
      "Add these lines to topic.toml in the collection's folder, with the address of your SearXNG, and come back.",
    el("pre", {}, state.example),
  );
}

function standing(state) {
  const { engine, spent } = state;
  const share = spent.limit ? ` of ${number(spent.limit)}` : "";
  const pairs = [
    ["engine", engine.name, engine.address],
    ["crawls by", MODES[engine.mode] ?? engine.mode],
    ["composes queries", engine.compose ? "yes" : "no"],
    ["queries", number(state.rows.length)],
    [`requests this month${share}`, number(spent.requests), "by this collection" + (spent.shared ? " and all others with the same key" : "")],
  ];
  if (spent.lab) pairs.push(["budget", "none", "nothing is counted in the lab"]);
  if (spent.price > 0) pairs.push(["cost this month", number(spent.cost + 1e-9, 2), `at ${spent.price} for 1,000 requests`]);
  return [facts(pairs), spent.limit > 0 && meter(spent)];
}

function meter(spent) {
  const full = Math.min(1, spent.requests / spent.limit);
  return el("p", {}, el("progress", { max: "1", value: full, "aria-label": "Requests of this month's limit" }), ` ${percent(full)} of this month's requests used`);
}

function problems(state) {
  return [
    state.engine.problem && notice("error", state.engine.problem),
    state.trouble && notice("warn", state.trouble.words, el("p", { class: "muted" }, "happened ", ago(state.trouble.at))),
  ];
}

function waiting(state) {
  if (!state.wanted.length) return null;
  const words = state.running ? "The running crawl will ask these next:" : "The next crawl will ask these first:";
  return notice("info", words, el("ul", {}, state.wanted.map((query) => el("li", {}, query))));
}

function grid() {
  return table.make({
    label: "Queries asked so far",
    rows: [],
    key: (row) => row.query,
    sort: "at",
    descending: true,
    columns: [
      { key: "query", title: "Query", sort: true, cell: asked },
      { key: "yield", title: "Yield", sort: true, number: true, cell: yielded },
      { key: "results", title: "Results", sort: true, number: true, cell: (row) => number(row.results) },
      { key: "fresh", title: "New", sort: true, number: true, cell: (row) => number(row.fresh) },
      { key: "fetched", title: "Fetched", sort: true, number: true, cell: (row) => number(row.fetched) },
      { key: "relevant", title: "Relevant", sort: true, number: true, cell: (row) => number(row.relevant) },
      { key: "at", title: "Last asked", sort: true, number: true, cell: (row) => ago(row.at) },
    ],
    empty: () => empty("Nothing asked yet", "A crawl asks your queries first and then composes its own from good pages. Or ask one now."),
  });
}

function asked(row) {
  return [
    el("div", {}, row.query),
    el("div", { class: "row" },
      el("span", { class: "chip" }, row.by === "composed" ? "composed" : `by ${row.by}`),
      row.pages > 1 && el("span", { class: "chip", title: "pages of results that were asked for" }, `${number(row.pages)} pages`),
      row.price > 0 && el("span", { class: "chip", title: "what its requests cost" }, number(row.price, 3)),
      row.stopped && el("span", { class: "chip warn", title: row.stopped }, `stopped: ${row.stopped}`),
      row.failures > 0 && el("span", { class: "chip bad", title: row.trouble }, `${number(row.failures)} failed`)),
    row.failures > 0 && el("small", {}, row.trouble),
  ];
}

function yielded(row) {
  if (row.yield === null) return el("span", { class: "muted", title: "none of its results was fetched yet" }, "–");
  const bar = el("span", { class: "bar", "aria-hidden": "true" });
  bar.style.width = `${Math.max(1, 100 * row.yield)}%`;
  return el("span", { title: `${row.relevant} of ${row.fetched} fetched results are relevant; mean verdict ${number(row.mean, 2)}` }, percent(row.yield), bar);
}
