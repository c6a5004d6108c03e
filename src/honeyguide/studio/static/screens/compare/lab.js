// The lab's comparisons in the studio's folder: figures with intervals, and curves.
import * as chart from "../../lib/chart.js";
import { el, fill } from "../../lib/dom.js";
import { ago, count, number } from "../../lib/format.js";
import { empty, failed, field, into, select } from "../../lib/parts.js";
import * as table from "../../lib/table.js";

const LINES = 6; // more curves than that nobody can tell apart

export function lab(api) {
  const element = el("div", {});
  let plot = null;
  const chosen = { folder: "", topic: "" };

  const refresh = () => into(element, async () => {
    const found = await api.get("/api/lab");
    if (!found.length) return empty("No comparisons here", ["The lab runs strategies on the same webs, from the terminal: ", el("code", {}, "honeyguide lab compare --out NAME"), " in this folder keeps its results, and they are drawn here."]);
    if (!found.some((one) => one.folder === chosen.folder)) chosen.folder = found[0].folder;
    const place = el("div", {});
    setTimeout(() => one(place), 0);
    return [
      el("div", { class: "toolbar" }, field("Comparison", select(found.map((each) => [each.folder, `${each.folder} (${count(each.strategies.length, "strategy", "strategies")}, ${count(each.topics, "topic")})`]), chosen.folder, (value) => { chosen.folder = value; chosen.topic = ""; one(place); })), el("span", { class: "muted" }, "the newest was written ", ago(found[0].at))),
      place,
    ];
  });

  async function one(place) {
    plot?.stop();
    plot = null;
    let found;
    try {
      found = await api.get("/api/lab/comparison", chosen);
    } catch (error) {
      if (error?.name !== "AbortError") fill(place, failed(error, () => one(place)));
      return;
    }
    const curves = el("div", {});
    fill(
      place,
      found.topics.length > 1 && el("div", { class: "toolbar" }, field("Topic", select([["", "all topics"], ...found.topics.map((topic) => [topic, topic])], chosen.topic, (value) => { chosen.topic = value; one(place); }))),
      el("section", { class: "panel" }, curves, el("p", { class: "muted" }, words(found))),
      figures(found).element,
    );
    if (!found.curves.length) return fill(curves, el("p", { class: "muted" }, "The crawls behind the figures (results.jsonl) are missing, so there are no curves."));
    plot = chart.lines(curves, {
      label: found.topic ? "Relevant pages found by visits" : "Recall by share of the budget",
      x: found.x,
      xLabel: found.topic ? "visits" : "% of the budget",
      yLabel: found.topic ? "relevant pages" : "recall",
      height: 300,
      series: found.curves.slice(0, LINES).map((curve) => ({ label: curve.strategy, values: curve.values, low: curve.low, high: curve.high })),
    });
  }

  function words(found) {
    const more = found.curves.length > LINES ? ` The best ${LINES} of ${found.curves.length} strategies are drawn.` : "";
    return `${count(found.crawls, "crawl")}. The shade is the 95% interval over ${found.over || "draws"}.${more}`;
  }

  function figures(found) {
    const estimate = (value) => (value.mean === null ? "–" : [number(value.mean, 3), el("small", {}, ` ${number(value.low, 3)} to ${number(value.high, 3)}`)]);
    const column = (key, title, cell, value) => ({ key, title, sort: true, number: true, cell, value });
    return table.make({
      label: "Strategies",
      rows: found.rows,
      sort: "area",
      descending: true,
      cards: true,
      columns: [
        { key: "strategy", title: "Strategy", sort: true, class: "wide", cell: (row) => row.strategy },
        column("area", "Area under the curve", (row) => estimate(row.line.area), (row) => row.line.area.mean),
        column("recall", "Recall", (row) => estimate(row.line.recall), (row) => row.line.recall.mean),
        column("harvest", "Harvest rate", (row) => estimate(row.line.harvest), (row) => row.line.harvest.mean),
        column("visits", `Visits to ${found.k}`, (row) => (row.line.visits_to === null ? "–" : number(row.line.visits_to)), (row) => row.line.visits_to),
        column("precision", "Precision", (row) => number(row.line.precision, 2), (row) => row.line.precision),
        column("difference", `Area − ${found.baseline}`, (row) => (row.strategy === found.baseline ? "–" : estimate(row.line.difference)), (row) => row.line.difference.mean),
      ],
    });
  }

  return { element, refresh, stop: () => plot?.stop() };
}
