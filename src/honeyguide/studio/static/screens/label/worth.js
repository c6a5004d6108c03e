// What further labels would buy: the generations' own trials, drawn and in words.
import * as chart from "../../lib/chart.js";
import { el, fill } from "../../lib/dom.js";

export function worth(api, name) {
  const words = el("p", {});
  const place = el("div", {});
  const element = el("section", { class: "panel", "aria-label": "Value of further labels" }, el("h2", {}, "Value of further labels"), words, place);
  let plot = null;

  async function refresh() {
    let found;
    try {
      found = await api.get(api.path(name, "label/worth"));
    } catch {
      return;
    }
    words.textContent = found.said;
    // One point for each number of labels: the newest generation that knew so many.
    const points = [...new Map(found.tried.map((one) => [one.labels, one])).values()].sort((a, b) => a.labels - b.labels);
    if (points.length < 2) {
      plot?.stop();
      plot = null;
      return fill(place);
    }
    const data = { x: points.map((one) => one.labels), series: [{ label: "error", values: points.map((one) => one.error) }] };
    if (plot) plot.update(data);
    else plot = chart.lines(place, { label: "Error on held-out labels by labels given", xLabel: "labels", yLabel: "error", height: 160, ...data });
  }

  return { element, refresh, stop: () => plot?.stop() };
}
