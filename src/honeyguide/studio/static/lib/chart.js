// Charts: lines over a number or time (uPlot), and plain bars.
//
//   const plot = chart.lines(place, {
//     label: "Harvest rate",                     // said to those who do not see it
//     x: [1, 2, 3],                              // ascending; time: true if seconds since 1970
//     series: [{label: "honeyguide", values: [.1, .2, null], low: [...], high: [...]}],
//     marks: [{x: 2, label: "generation 1"}],    // vertical lines
//     percent: true, xLabel: "pages", yLabel: "relevant", height: 220, time: false,
//   });
//   plot.update({x, series, marks});  plot.stop();
//
//   chart.bars(place, {label: "Frontier by score", rows: [["0.9–1.0", 120], …]});
//
// Colours come from the style sheet (--line-1 … --line-6), so they follow light and dark; lines
// also differ in their dashes, so that nobody needs the colours.
import uPlot from "../vendor/uplot/uPlot.esm.js";
import { el, fill, svg } from "./dom.js";
import { exact, number, percent as share } from "./format.js";

const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 5], [1, 4]];
const COLOURS = 6;
const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500].flatMap((step) => [step, step * 1e3, step * 1e6]).sort((a, b) => a - b);

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "#888";
}

const faint = (line) => (/^#[0-9a-f]{6}$/i.test(line) ? `${line}26` : line);

function swatch(index) {
  const dash = DASHES[index % DASHES.length].join(" ");
  return svg("svg", { class: ["swatch", `line-${(index % COLOURS) + 1}`], viewBox: "0 0 32 4", "aria-hidden": "true" }, svg("line", { x1: 0, y1: 2, x2: 32, y2: 2, "stroke-dasharray": dash || undefined }));
}

export function lines(place, options) {
  let data = options;
  let plot = null;
  const legend = el("ul", { class: "legend" });
  const canvas = el("div", { class: "canvas", role: "img" });
  const told = el("p", { class: "told", "aria-hidden": "true" }, "\u00A0");
  const frame = el("figure", { class: "chart" }, canvas, el("figcaption", {}, legend, told));
  fill(place, frame);
  const height = options.height ?? 220;
  canvas.style.minHeight = `${height}px`;
  const shown = (value) => (value === null || value === undefined ? "–" : options.percent ? share(value, 1) : number(value, value % 1 ? 2 : 0));
  const where = (x) => (options.time ? exact(x) : number(x, x % 1 ? 2 : 0));

  // uPlot's columns: x, then each series, then the bounds of those that have an interval.
  function columns() {
    const extra = data.series.flatMap((one) => (one.low ? [one.high, one.low] : []));
    return [data.x, ...data.series.map((one) => one.values), ...extra];
  }

  const shape = () => JSON.stringify(data.series.map((one) => [one.label, Boolean(one.low)]));
  let drawn = "";

  function draw() {
    plot?.destroy();
    drawn = shape();
    const series = [{}];
    const bands = [];
    data.series.forEach((one, index) => {
      const line = colour(`--line-${(index % COLOURS) + 1}`);
      series.push({ label: one.label, stroke: line, width: 2, dash: DASHES[index % DASHES.length], points: { show: data.x.length < 2 }, spanGaps: true });
    });
    data.series.forEach((one, index) => {
      if (!one.low) return;
      bands.push({ series: [series.length, series.length + 1], fill: faint(colour(`--line-${(index % COLOURS) + 1}`)) });
      series.push({ width: 0, points: { show: false } }, { width: 0, points: { show: false } });
    });
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--rule"), width: 1 }, ticks: { stroke: colour("--rule"), width: 1 }, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif" };
    plot = new uPlot(
      {
        width: Math.max(200, canvas.clientWidth || place.clientWidth || 600),
        height,
        legend: { show: false },
        cursor: { y: false, drag: { x: true, y: false } },
        scales: { x: { time: Boolean(options.time) }, y: { range: range } },
        axes: [
          { ...axis, label: options.xLabel, labelSize: 18, size: 32, incrs: data.x.every(Number.isInteger) && !options.time ? WHOLE : undefined, values: options.time ? undefined : (_, ticks) => ticks.map((tick) => number(tick, tick % 1 ? 2 : 0)) },
          { ...axis, label: options.yLabel, labelSize: 18, size: 56, values: (_, ticks) => ticks.map((tick) => (options.percent ? share(tick) : number(tick, Math.abs(tick) < 10 && tick % 1 ? 2 : 0))) },
        ],
        series,
        bands,
        hooks: { draw: [marks], setCursor: [tell] },
      },
      columns(),
      canvas,
    );
    keys();
  }

  function range(_, low, high) {
    if (options.percent) return [0, Math.min(1, Math.max(0.1, (high ?? 0) * 1.1))];
    if (low === null || low === undefined) return [0, 1];
    const bottom = options.fromZero === false ? low : Math.min(0, low);
    return [bottom, high > bottom ? high + (high - bottom) * 0.08 : bottom + 1];
  }

  function marks(u) {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.strokeStyle = colour("--soft");
    ctx.fillStyle = colour("--soft");
    ctx.lineWidth = 1;
    ctx.setLineDash([3, 3]);
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textAlign = "left";
    const inside = (data.marks ?? [])
      .map((mark) => [Math.round(u.valToPos(mark.x, "x", true)), String(mark.label ?? "").slice(0, 24)])
      .filter(([x]) => x >= bbox.left && x <= bbox.left + bbox.width)
      .sort((a, b) => a[0] - b[0]);
    inside.forEach(([x, words], index) => {
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      // Only where there is room up to the next line.
      const end = inside[index + 1]?.[0] ?? bbox.left + bbox.width;
      if (x + ctx.measureText(words).width + 6 < end) ctx.fillText(words, x + 4, bbox.top + 12 * devicePixelRatio);
    });
    ctx.restore();
  }

  function tell(u) {
    const at = u.cursor.idx;
    if (at === null || at === undefined || data.x[at] === undefined) {
      told.textContent = "\u00A0";
      return;
    }
    const parts = data.series.map((one) => `${one.label} ${shown(one.values[at])}` + (one.low ? ` (${shown(one.low[at])} to ${shown(one.high[at])})` : ""));
    told.textContent = `${where(data.x[at])}: ${parts.join(" · ")}`;
  }

  // Dashed as its line is; one that has no value yet is not named.
  function keys() {
    const seen = data.series.filter((one) => one.values.some((value) => value !== null && value !== undefined));
    fill(legend, data.series.map((one, index) => seen.includes(one) && el("li", {}, swatch(index), one.label)));
    legend.hidden = data.series.length < 2 && !data.series[0]?.low;
    const last = seen.map((one) => `${one.label}: last ${shown(one.values.findLast((value) => value !== null))}`);
    canvas.setAttribute("aria-label", `${options.label ?? options.yLabel ?? "Chart"}. ${last.join(", ")}. ${data.x.length} points.`);
  }

  const resize = new ResizeObserver(() => {
    const width = canvas.clientWidth;
    if (plot && width && Math.abs(width - plot.width) > 1) plot.setSize({ width, height });
  });
  const redraw = () => draw();
  draw();
  resize.observe(canvas);
  document.addEventListener("themechange", redraw);
  return {
    update(next) {
      data = { ...data, ...next };
      if (shape() !== drawn) return draw();
      plot.setData(columns());
      keys();
    },
    stop() {
      resize.disconnect();
      document.removeEventListener("themechange", redraw);
      plot?.destroy();
    },
  };
}

// Horizontal bars as a table: readable by everybody, drawn by the style sheet.
// rows: [[label, value, note?], …]; options.format: how a value is written.
export function bars(place, { label, rows, format = number }) {
  const most = rows.reduce((largest, [, value]) => Math.max(largest, value), 1e-9);
  const body = rows.map(([name, value, note]) => {
    const bar = el("span", { class: "bar" });
    bar.style.width = `${Math.max(value > 0 ? 0.5 : 0, (100 * value) / most)}%`;
    return el("tr", { title: note }, el("th", { scope: "row" }, name), el("td", { class: "number" }, format(value)), el("td", { class: "drawn", "aria-hidden": "true" }, bar));
  });
  fill(place, el("table", { class: "bars" }, el("caption", {}, label), el("tbody", {}, body)));
}
