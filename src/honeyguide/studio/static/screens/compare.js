// Compare: what each generation learned and brought, and the lab's comparisons of strategies.
import * as chart from "../lib/chart.js";
import { el, fill } from "../lib/dom.js";
import { ago, number, percent } from "../lib/format.js";
import { button, confirm, empty, into, notice, toast } from "../lib/parts.js";
import * as table from "../lib/table.js";
import { against } from "./compare/against.js";
import { lab } from "./compare/lab.js";

// What going back does, and what it leaves alone.
const MEANT = [
  "Waiting links are ranked again with it, and pages fetched from now on are scored with it; a running crawl switches to it within seconds.",
  "Nothing is lost: all labels stay, verdicts on fetched pages stay as they are, and later generations stay in this list.",
  "The next one is trained from it and from all labels. You can go forward again in the same way.",
];

export async function show(main, params, api) {
  const path = (rest) => api.path(params.name, rest);
  const plots = [];
  const place = el("div", {});
  const comparisons = lab(api);
  fill(main, el("h1", {}, "Compare"), el("h2", {}, "Generations"), place, el("h2", {}, "Comparisons in the lab"), comparisons.element);

  const load = () => into(place, async () => {
    plots.splice(0).forEach((plot) => plot.stop());
    const found = await api.get(path("generations"));
    return draw(found);
  });

  function draw(found) {
    if (!found.rows.length) return empty("No generations yet", "The first one is made by the first crawl; a strategy that learns makes more of them.");
    const charts = found.rows.length > 1 ? [el("div", { class: "split even" }, harvest(found.rows), trials(found.rows))] : [];
    return [
      !found.learns && notice("info", "This topic’s strategy does not learn: there is one generation only."),
      found.left_out > 0 && el("p", { class: "muted" }, `${number(found.left_out)} older generations are not shown.`),
      ...charts,
      el("section", { class: "panel", "aria-label": "Generations" }, list(found)),
      found.rows.filter((row) => row.whole).length > 1 ? against(api, params.name, found) : null,
    ];
  }

  function harvest(rows) {
    const box = el("div", {});
    const seen = rows.filter((row) => row.visits > 0);
    if (seen.length < 2) fill(box, el("p", { class: "muted" }, "Drawn as soon as two generations were active during visits."));
    else later(() => plots.push(chart.lines(box, { label: "Harvest rate by generation", x: seen.map((row) => row.number), series: [{ label: "harvest rate", values: seen.map((row) => row.relevant / row.visits) }], percent: true, xLabel: "generation", marks: live(rows), height: 200 })));
    return el("section", { class: "panel" }, el("h2", {}, "Harvest rate"), box);
  }

  function trials(rows) {
    const box = el("div", {});
    const tried = rows.filter((row) => row.error !== null);
    if (tried.length < 2) fill(box, el("p", { class: "muted" }, "Generations are tested on held-out labels: 25 labels of both kinds are needed for that."));
    else later(() => plots.push(chart.lines(box, { label: "Error on held-out labels", x: tried.map((row) => row.number), series: [{ label: "its error", values: tried.map((row) => row.error) }, { label: "the one before, on the same labels", values: tried.map((row) => row.before) }], xLabel: "generation", marks: live(rows), height: 200 })));
    return el("section", { class: "panel" }, el("h2", {}, "Error on held-out labels"), box);
  }

  const live = (rows) => rows.filter((row) => row.live).map((row) => ({ x: row.number, label: "decides" }));
  // A chart wants to know how wide its place is, which it has only when it stands on the page.
  const later = (make) => setTimeout(() => { if (place.isConnected) make(); }, 0);

  function list(found) {
    const rows = table.make({
      label: "Generations",
      rows: [...found.rows].reverse(),
      sort: "number",
      descending: true,
      key: (row) => row.number,
      cards: true,
      columns: [
        { key: "number", title: "No.", sort: true, number: true, cell: (row) => [number(row.number), row.live && " ", row.live && el("span", { class: "chip good" }, "decides")] },
        { key: "at", title: "Learned", sort: true, cell: (row) => (row.at ? ago(row.at) : "–") },
        { key: "visits", title: "Visits", sort: true, number: true, cell: (row) => number(row.visits) },
        { key: "harvest", title: "Harvest", sort: true, number: true, value: (row) => (row.visits ? row.relevant / row.visits : null), cell: (row) => (row.visits ? percent(row.relevant / row.visits) : "–") },
        { key: "error", title: "Error", sort: true, number: true, cell: (row) => (row.error === null ? "–" : [number(row.error, 3), el("small", {}, ` was ${number(row.before, 3)}`)]) },
        { key: "note", title: "Trained on", class: "wide", cell: (row) => [row.held_back && el("span", { class: "chip warn" }, "held back"), " ", row.note, !row.whole && el("small", {}, " (only this note is kept)")] },
        { key: "use", title: "", said: "Go back", cell: (row) => (row.live || !row.whole ? null : button("Make it active", () => use(row, found.live))) },
      ],
    });
    return rows.element;
  }

  async function use(row, now) {
    const yes = await confirm(`Make generation ${row.number} active?`, "Make it active", "Cancel", MEANT.map((line) => el("p", {}, line)));
    if (!yes) return;
    await api.post(path("generations/use"), { number: row.number });
    toast(`Generation ${row.number} is active from now on, and training continues from it.`, "good", now === null ? {} : {
      undo: async () => {
        try {
          await api.post(path("generations/use"), { number: now });
          toast(`Generation ${now} is active again.`, "good");
          load();
        } catch (error) {
          if (error?.name !== "AbortError") toast(error.message, "error");
        }
      },
    });
    await load();
  }

  await Promise.all([load(), comparisons.refresh()]);
  return () => {
    plots.forEach((plot) => plot.stop());
    comparisons.stop();
  };
}
