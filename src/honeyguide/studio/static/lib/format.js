// Numbers and times as people read them.
import { el } from "./dom.js";

const THIN = "\u202F";

// 12345 → "12 345" with thin spaces; digits: how many after the point.
export function number(value, digits = 0) {
  if (value === null || value === undefined || !Number.isFinite(Number(value))) return "–";
  const [whole, rest] = Math.abs(value).toFixed(digits).split(".");
  const grouped = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, THIN) : whole;
  const sign = value < 0 && Number(value.toFixed(digits)) !== 0 ? "−" : "";
  return sign + (rest ? `${grouped}.${rest}` : grouped);
}

// count(1, "page") → "1 page", count(2, "match", "matches") → "2 matches"
export function count(value, one, many = `${one}s`) {
  return `${number(value)} ${value === 1 ? one : many}`;
}

// .4231 → "42%", as the server writes it
export function percent(share, digits = 0) {
  if (share === null || share === undefined || !Number.isFinite(share)) return "–";
  return `${number(share * 100, digits)}%`;
}

export function score(value) {
  return value === null || value === undefined ? "–" : number(value, 2);
}

// A verdict in two digits, or in as many as show on which side of the threshold it is: .497, not .50.
export function verdict(value, threshold) {
  if (value === null || value === undefined || !Number.isFinite(threshold)) return score(value);
  const digits = [2, 3, 4].find((count) => Number(value.toFixed(count)) >= threshold === value >= threshold);
  return digits ? number(value, digits) : `just ${value < threshold ? "under" : "above"} ${threshold}`;
}

export function bytes(count) {
  if (count < 1000) return `${number(count)}${THIN}B`;
  const units = ["kB", "MB", "GB", "TB"];
  let step = -1;
  let rest = count;
  do {
    rest /= 1000;
    step += 1;
  } while (rest >= 999.5 && step < units.length - 1);
  return `${number(rest, rest < 9.95 ? 1 : 0)}${THIN}${units[step]}`;
}

// 5400 → "1 h 30 min"
export function span(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s}${THIN}s`;
  if (s < 3600) return s < 600 && s % 60 ? `${Math.floor(s / 60)}${THIN}min ${s % 60}${THIN}s` : `${Math.round(s / 60)}${THIN}min`;
  if (s < 172_800) {
    const minutes = Math.floor((s % 3600) / 60);
    return `${Math.floor(s / 3600)}${THIN}h` + (minutes ? ` ${minutes}${THIN}min` : "");
  }
  return `${Math.round(s / 86_400)} days`;
}

const STEPS = [
  [60, 1, "second"],
  [3600, 60, "minute"],
  [86_400, 3600, "hour"],
  [2_592_000, 86_400, "day"],
  [31_536_000, 2_592_000, "month"],
  [Infinity, 31_536_000, "year"],
];

// Seconds since 1970 → "3 minutes ago", "in 2 days"
export function since(at, now = Date.now() / 1000) {
  const away = Math.abs(now - at);
  if (away < 5) return "just now";
  const [, unit, word] = STEPS.find(([limit]) => away < limit);
  const count = Math.max(1, Math.floor(away / unit));
  const words = `${count} ${word}${count === 1 ? "" : "s"}`;
  return at <= now ? `${words} ago` : `in ${words}`;
}

export function exact(at) {
  const date = new Date(at * 1000);
  return Number.isNaN(date.getTime()) ? "–" : date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

// <time> that says "3 minutes ago", keeps saying the truth, and shows the exact time on hover.
export function ago(at) {
  if (at === null || at === undefined || !Number.isFinite(at) || Math.abs(at) > 8.6e12) return el("span", {}, "–");
  return el("time", { datetime: new Date(at * 1000).toISOString(), title: exact(at), dataset: { at } }, since(at));
}

// The router calls this now and then: all times on the page at once.
export function refresh(root = document) {
  for (const node of root.querySelectorAll("time[data-at]")) {
    const words = since(Number(node.dataset.at));
    if (node.textContent !== words) node.textContent = words;
  }
}
