// How the crawl goes: numbers, the harvest curve, the frontier, hosts, failures, what is fetched now.
// Everything comes in one event every two seconds; parts are drawn again only where they differ.
import * as chart from "../lib/chart.js";
import { el, fill, outside } from "../lib/dom.js";
import { ago, bytes, count, number, percent, score, span } from "../lib/format.js";
import { hinted } from "../lib/hints.js";
import * as live from "../lib/live.js";
import { button, empty, facts, notice, toast } from "../lib/parts.js";
import * as table from "../lib/table.js";
import { watching } from "./live/watch.js";

const FETCHING = 12; // addresses shown at once
const HOSTS = 20;
const ASKED = "you asked for it"; // the crawl's own word for Ctrl-C, Pause and Stop
const ADVISED = 200; // visits after which advice is asked for again
const LATE_S = 5; // hosts that were counted longer ago are said to be
const KINDS = {
  dns: "name not found", connect: "no connection", tls: "bad certificate", timeout: "took too long",
  protocol: "invalid answer", too_large: "too large", too_many_redirects: "redirect loop",
  forbidden: "private address", wrong_type: "not a page", robots: "forbidden by robots.txt",
  noindex: "asks not to be indexed", scope: "out of scope", trap: "looks like a trap", status: "refused (HTTP status)",
  parse: "could not be read", bug: "internal error", fetch: "could not be fetched",
};

export async function show(main, params, api) {
  const first = await api.get(api.path(params.name, "live"));
  const screen = layout(main, params.name, api);
  screen.draw(first);
  const trouble = el("div", {});
  main.prepend(trouble);
  const stop = live.listen(api.path(params.name, "events"), {
    tick: (state) => { fill(trouble); screen.draw(state); },
    trouble: ({ error, gone }) => fill(trouble, el("div", { class: "notice warn", role: "status" }, gone ? live.reason({ status: 404 }) : el("p", {}, hinted(error)))),
  }, { place: main, about: api.path(params.name, "live") });
  return () => {
    stop();
    screen.stop();
  };
}

function layout(main, name, api) {
  const places = Object.fromEntries(["state", "advice", "numbers", "curve", "scores", "fetching", "top", "failures", "languages", "rest", "counted"].map((key) => [key, el("div", {})]));
  const hosts = hostTable();
  const watch = watching(api, name);
  const begin = el("div", { hidden: true }, empty("Nothing fetched yet", "Start the crawl to see its progress here.", el("a", { class: "button primary", href: `#/c/${encodeURIComponent(name)}/start` }, "Start")));
  const panels = el(
    "div",
    {},
    el("section", { class: "panel", "aria-label": "Harvest rate" }, el("h2", {}, "Harvest rate"), places.curve),
    el(
      "div",
      { class: "split even" },
      el(
        "div",
        {},
        el("section", { class: "panel" }, el("h2", {}, "Being fetched now"), places.fetching),
        el("section", { class: "panel" }, el("h2", {}, "Waiting links"), places.scores, places.rest),
        el("section", { class: "panel" }, el("h2", {}, "Languages"), places.languages),
      ),
      el(
        "div",
        {},
        el("section", { class: "panel" }, el("h2", {}, "Next in line"), places.top),
        el("section", { class: "panel" }, el("h2", {}, "Failures"), places.failures),
      ),
    ),
    el("section", { class: "panel" }, el("h2", {}, "Hosts"), places.counted, hosts.element),
  );
  fill(main, el("h1", {}, "Live"), places.state, places.advice, places.numbers, watch.element, begin, panels);
  let plot = null;
  const drawn = {};
  // Only what differs is touched: a screen reader, or a selection, is not disturbed for nothing.
  const part = (key, value, make) => {
    const now = JSON.stringify(value);
    if (drawn[key] === now) return;
    drawn[key] = now;
    make(value);
  };
  return {
    draw(state) {
      part("watch", state.watch, () => watch.draw(state.watch));
      part("state", [state.watch?.running, state.running, state.fresh, state.stopping, state.ended, state.last, state.next_at], () => fill(places.state, standing(state)));
      part("numbers", [state.budget, state.visits, state.relevant, state.rate, state.waiting, state.known_hosts, state.labels, state.bytes], () => fill(places.numbers, numbers(state)));
      part("advice", Math.floor(state.visits / ADVISED) + (state.running ? 0 : 0.5), () => advise(places.advice, api, name));
      begin.hidden = state.visits > 0 || state.running;
      panels.hidden = !begin.hidden;
      part("curve", [state.curve, state.generations, state.watch?.running], () => {
        if (!state.curve.visits.length) return fill(places.curve, el("p", { class: "muted" }, state.watch?.running && !state.fresh ? "Nothing was crawled yet." : "The first visits are in progress."));
        const data = curve(state);
        if (plot) plot.update(data);
        else plot = chart.lines(places.curve, { ...data, label: "Harvest rate", percent: true, xLabel: "visits", height: 240 });
      });
      part("fetching", [state.fetching, state.fresh, state.running, state.watch?.running], () => fill(places.fetching, fetching(state)));
      part("top", state.frontier.top, () => fill(places.top, top(state.frontier.top, name)));
      part("scores", state.frontier.scores, () => scores(places.scores, state.frontier));
      part("rest", [state.frontier.hosts, state.frontier.busy, state.frontier.resting, state.frontier.parked, state.fresh, state.seen], () => fill(places.rest, waiting(state)));
      part("failures", state.failures, () => tally(places.failures, "Visits without a page, by reason", state.failures, (kind) => KINDS[kind] ?? kind, "None so far."));
      part("languages", state.languages, () => tally(places.languages, "Pages by language", state.languages, language, "Languages are detected if the topic names some."));
      part("hosts", state.hosts, () => hosts.set(state.hosts));
      part("counted", state.at - state.hosts_at > LATE_S && state.hosts_at, (at) => fill(places.counted, at && el("p", { class: "muted" }, "Counted ", ago(at), ".")));
    },
    stop: () => { plot?.stop(); watch.stop(); },
  };
}

// What hinders the crawl, each with a button that mends it. Mostly there is nothing.
async function advise(place, api, name) {
  try {
    const found = await api.get(api.path(name, "advice"));
    fill(place, found.map((one) => notice("info", `${one.sentence} ${one.proposal}`, mend(one, place, api, name))));
  } catch (error) {
    if (error?.name !== "AbortError") fill(place); // the rest of the screen says what is wrong
  }
}

function mend(one, place, api, name) {
  if (one.command === "ask") return el("a", { class: "button", href: `#/c/${encodeURIComponent(name)}/label` }, "Label pages");
  if (one.question) {
    const answer = (row, url, text, say) => button(text, async () => {
      await api.post(api.path(name, "label"), { url, say, topic: "" });
      fill(row, `${text}. It counts at once.`);
    });
    return el("ul", {}, one.pages.map((url, n) => {
      const row = el("li", {});
      return fill(row, `${one.titles[n]} `, answer(row, url, "Yes", "relevant"), " ", answer(row, url, "No", "not")), row;
    }));
  }
  if (!one.acceptable) return null;
  return button("Accept", async () => {
    await api.post(api.path(name, "advice"), { proposal: one.proposal });
    toast("Done. It counts when the crawl is started next.", "good");
    await advise(place, api, name);
  }, { kind: "primary" });
}

function standing(state) {
  if (state.watch?.running && !state.fresh) return el("p", {}, el("span", { class: "chip good" }, "watching"), " A watch is running: it revisits the pages and reports what changed. No crawl runs meanwhile.");
  if (state.running) {
    const word = !state.fresh ? "busy" : state.stopping ? "stopping" : "crawling";
    const chip = el("span", { class: ["chip", word === "crawling" ? "good" : "warn"] }, word);
    const rests = state.next_at && !state.fetching.length && state.next_at > Date.now() / 1000 + 1;
    return el("p", {}, chip, state.fresh ? "" : " A process is working on it without reporting more; most likely a crawl is starting.", rests ? [" All hosts are waiting; the next is ready ", ago(state.next_at), "."] : "");
  }
  if (!state.visits) return null;
  return el("p", {}, el("span", { class: "chip" }, "not crawling"), state.ended === ASKED ? " You stopped it." : state.ended ? ` It stopped: ${state.ended}.` : "", state.last ? [" Last visit ", ago(state.last), "."] : "");
}

function numbers(state) {
  const of = state.budget && state.budget >= state.visits ? ` of ${number(state.budget)}` : "";
  return facts([
    [`visits${of}`, number(state.visits)],
    ["relevant", number(state.relevant)],
    ["harvest rate", percent(state.harvest), "relevant visits ÷ visits"],
    ["visits a second", state.rate === null ? "–" : number(state.rate, 1), "in the last half minute"],
    ["links waiting", number(state.waiting)],
    ["hosts", number(state.known_hosts)],
    ["labels", number(state.labels)],
    ["fetched", bytes(state.bytes)],
  ]);
}

function curve(state) {
  return {
    x: state.curve.visits,
    series: [
      { label: "recent visits", values: state.curve.recent },
      { label: "all visits so far", values: state.curve.harvest },
    ],
    marks: state.generations.slice(1).map((mark) => ({ x: mark.visits, label: `gen ${mark.generation}` })),
  };
}

function fetching(state) {
  if (!state.fresh) return el("p", { class: "muted" }, state.watch?.running ? "Nothing: a watch is running, no crawl." : state.running ? "The crawl has not reported yet." : "Nothing: no crawl is running.");
  if (!state.fetching.length) return el("p", { class: "muted" }, "Nothing at this moment: hosts wait between two requests.");
  const more = state.fetching.length - FETCHING;
  return [
    el("ol", { class: "plain" }, state.fetching.slice(0, FETCHING).map((one) => el("li", {}, outside(one.url), " ", el("small", {}, score(one.score))))),
    more > 0 && el("p", { class: "muted" }, `and ${number(more)} more`),
  ];
}

function top(rows, name) {
  if (!rows.length) return el("p", { class: "muted" }, "No waiting links were reported.");
  return el(
    "ol",
    { class: "plain" },
    rows.slice(0, 10).map((row) =>
      el("li", {}, el("span", { class: "chip" }, score(row.score)), " ", row.anchor ? el("strong", {}, row.anchor.slice(0, 80)) : null, " ",
        el("a", { class: "address", href: `#/c/${encodeURIComponent(name)}/page?url=${encodeURIComponent(row.url)}`, title: "why it is waiting" }, row.url.slice(0, 120)))),
  );
}

function scores(place, frontier) {
  if (!frontier.scores.length) return fill(place, el("p", { class: "muted" }, "The crawl reports this while it is running."));
  const bins = frontier.scores;
  const highest = bins.findLastIndex((count) => count > 0);
  const step = highest < 10 ? 1 : 2; // ten bars are enough to read
  const rows = [];
  for (let at = 0; at <= Math.max(highest, 4); at += step) {
    const [low, high] = [at / bins.length, (at + step) / bins.length];
    const count = bins.slice(at, at + step).reduce((sum, one) => sum + one, 0);
    rows.unshift([`${number(low, 2)}–${number(high, 2)}`, count]);
  }
  chart.bars(place, { label: "By score, the best first", rows });
}

function waiting(state) {
  const seen = state.frontier;
  if (!seen.at) return null;
  const ready = Math.max(0, seen.hosts - seen.busy - seen.resting - seen.parked);
  return [
    el("p", { class: "muted" }, `${count(seen.hosts, "host has", "hosts have")} waiting links: ${number(ready)} ready, ${number(seen.busy)} being requested, ${number(seen.resting)} in their delay, ${number(seen.parked)} skipped.`),
    state.fresh ? null : el("p", { class: "muted" }, "As it was ", ago(seen.at), "."),
  ];
}

function tally(place, label, counted, name, none) {
  const rows = Object.entries(counted).sort((a, b) => b[1] - a[1]).slice(0, 12).map(([key, value]) => [name(key), value]);
  if (!rows.length) return fill(place, el("p", { class: "muted" }, none));
  chart.bars(place, { label, rows });
}

let names = null;
export function language(code) {
  try {
    names ??= new Intl.DisplayNames(undefined, { type: "language" });
    return code ? names.of(code) : "–";
  } catch {
    return code;
  }
}

function hostTable() {
  let all = [];
  let whole = false;
  const more = el("button", { type: "button", hidden: true, on: { click: () => { whole = true; draw(); } } }, "Show more hosts");
  const draw = () => {
    more.hidden = whole || all.length <= HOSTS;
    return rows.set(whole ? all : all.slice(0, HOSTS));
  };
  const rows = hostRows();
  return { element: el("div", {}, rows.element, more), set: (given) => { all = given; return draw(); } };
}

// A name in one line, however narrow the screen: the table scrolls.
function whole(text) {
  const node = el("span", {}, text.slice(0, 100));
  node.style.whiteSpace = "nowrap";
  return node;
}

function hostRows() {
  return table.make({
    label: "Hosts",
    key: (row) => row.host,
    rows: [],
    cards: true,
    sort: "visits",
    columns: [
      { key: "host", title: "Host", sort: true, class: "wide", cell: (row) => whole(row.host) },
      { key: "visits", title: "Visits", sort: true, number: true, cell: (row) => number(row.visits) },
      { key: "relevant", title: "Relevant", sort: true, number: true, cell: (row) => number(row.relevant) },
      { key: "yield", title: "Yield", sort: true, number: true, value: (row) => (row.visits ? row.relevant / row.visits : null), cell: (row) => (row.visits ? percent(row.relevant / row.visits) : "–") },
      { key: "failures", title: "Failed", sort: true, number: true, cell: (row) => number(row.failures) },
      { key: "waiting", title: "Links waiting", sort: true, number: true, cell: (row) => (row.waiting === null ? "–" : number(row.waiting)) },
      { key: "delay", title: "Requested delay", sort: true, number: true, cell: (row) => (row.delay === null ? "–" : span(row.delay)) },
      { key: "state", title: "Now", sort: true, cell: (row) => [row.state || "–", row.why && row.state !== "resting" ? `: ${row.why}` : "", row.until && row.state === "left alone" ? [", again ", ago(row.until)] : ""] },
    ],
    empty: () => el("p", { class: "muted" }, "No host yet."),
  });
}
