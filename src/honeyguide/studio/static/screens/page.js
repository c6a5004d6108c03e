// One page: its text with the evidence marked, why it is here, the way from a seed, versions.
import { el, fill, outside } from "../lib/dom.js";
import * as evidence from "../lib/evidence.js";
import { ago, bytes, score, verdict as figure } from "../lib/format.js";
import { framed } from "../lib/framed.js";
import * as keys from "../lib/keys.js";
import { notice } from "../lib/parts.js";
import { language } from "./live.js";

export async function show(main, params, api) {
  const { visit, url, from } = params.query;
  const back = `#/c/${encodeURIComponent(params.name)}/collection${from ? `?${new URLSearchParams(from)}` : ""}`;
  const view = await api.get(api.path(params.name, "page"), { visit, url });
  const body = el("div", {});
  const frame = (which) => framed(api, params.name, which);
  const version = (number) => {
    buttons.forEach((button) => button.setAttribute("aria-pressed", "false"));
    fill(body, el("p", { class: "muted" }, `Version ${number}, without scripts, pictures and network requests.`), frame({ url: view.url, version: number }));
    body.scrollIntoView({ block: "nearest" });
  };
  const tabs = [
    ["Text", () => text(view)],
    ...(view.archived ? [["As rendered", () => [el("p", { class: "muted" }, "Without scripts, pictures and network requests; links are disabled."), frame({ visit: view.visit })]]] : []),
  ];
  const buttons = tabs.map(([name, make], index) => el("button", { type: "button", "aria-pressed": "false", on: { click: () => choose(index, make) } }, name));
  const choose = (index, make) => {
    buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(at === index)));
    fill(body, make());
  };
  fill(
    main,
    el("p", {}, el("a", { href: back }, "← Collection")),
    el("h1", {}, view.title || view.url.slice(0, 200)),
    el("p", {}, outside(view.url)),
    el("p", {}, verdict(view), " ", view.answer),
    el(
      "div",
      { class: "split" },
      el("section", { class: "panel", "aria-label": "The page" }, tabs.length > 1 ? el("div", { class: "toolbar" }, buttons) : null, body),
      el("div", { class: "stack" }, why(view), link(view), way(view, params.name), history(view, params.name, version), about(view)),
    ),
  );
  if (view.visit === null) fill(body, notice("info", "It was not fetched, so there is nothing to read yet."));
  else choose(0, tabs[0][1]);
  return keys.bind("Page", { b: ["back to the collection", () => { location.hash = back; }] });
}

function verdict(view) {
  const last = view.labels.at(-1);
  if (last) return el("span", { class: ["chip", last.value >= 0.5 ? "good" : "bad"] }, last.value >= 0.5 ? "labelled relevant" : "labelled not relevant");
  if (view.verdict === null) return null;
  return el("span", { class: ["chip", view.relevant && "good"] }, `${view.relevant ? "relevant" : "not relevant"}: ${figure(view.verdict, view.threshold)}`);
}

function text(view) {
  if (!view.text) return el("p", { class: "muted" }, view.description || "No text of this page was stored.");
  return [
    view.marks.length ? el("p", { class: "muted" }, evidence.legend(view.marks)) : null,
    el("div", { class: "text", lang: view.language || view.declared || null }, evidence.text(view.text, view.marks)),
    view.cut ? el("p", { class: "muted" }, "The text is longer; this is its beginning.") : null,
  ];
}

function panel(title, ...children) {
  return el("section", { class: "panel" }, el("h2", {}, title), ...children);
}

function reasons(list) {
  return el("table", {}, el("tbody", {}, list.map((one) => el("tr", {}, el("td", {}, one.what), el("td", { class: "number" }, score(one.weight))))));
}

function why(view) {
  const topics = Object.entries(view.topics);
  if (!view.reasons.length && !topics.length) return null;
  return panel(
    "Why it got this verdict",
    topics.length ? reasons(topics.map(([what, weight]) => ({ what, weight }))) : null,
    view.reasons.length ? reasons(view.reasons) : null,
  );
}

function link(view) {
  if (view.link_score === null) return null;
  const around = view.anchor || view.before || view.after;
  return panel(
    "Why the link was followed",
    el("p", {}, "Score before it was fetched: ", el("strong", {}, score(view.link_score))),
    around ? el("p", {}, el("span", { class: "muted" }, `${view.before} `), el("strong", {}, view.anchor || "(no words)"), el("span", { class: "muted" }, ` ${view.after}`)) : null,
    view.link_reasons.length ? reasons(view.link_reasons) : null,
  );
}

function way(view, name) {
  if (!view.way.length) return null;
  const to = (url) => `#/c/${encodeURIComponent(name)}/page?url=${encodeURIComponent(url)}`;
  return panel(
    "The way from a seed",
    el(
      "ol",
      { class: "plain" },
      view.way.map((step) => el("li", {}, el("a", { class: "address", href: to(step.url) }, step.url.slice(0, 160)), " ", el("small", {}, score(step.verdict)), el("div", { class: "muted" }, "↓ ", step.anchor ? `“${step.anchor.slice(0, 120)}”` : "a link without words"))),
      el("li", {}, el("strong", {}, "this page")),
    ),
  );
}

function history(view, name, version) {
  const parts = [];
  if (view.labels.length) {
    parts.push(el("h3", {}, "Labels"), el("ul", {}, view.labels.map((one) => el("li", {}, one.value >= 0.5 ? "relevant" : "not relevant", one.topic ? ` (${one.topic})` : "", ", by ", one.by || "no name given", ", ", ago(one.at)))));
  }
  if (view.changes.length) {
    parts.push(el("h3", {}, "Changes"), el("ul", {}, view.changes.slice(0, 20).map((one) => el("li", {}, el("a", { href: `#/c/${encodeURIComponent(name)}/diff/${one.id}` }, one.kinds.join(", ") || "changed"), ", ", ago(one.at)))));
  }
  if (view.versions.length) {
    parts.push(el("h3", {}, "Versions"), el("ul", {}, view.versions.slice(-20).reverse().map((one) => el("li", {}, `version ${one.number}, ${bytes(one.size)}, `, ago(one.at), " ", el("button", { type: "button", class: "quiet", "aria-label": `Show version ${one.number}`, on: { click: () => version(one.number) } }, "show")))));
  }
  if (view.attempts.length > 1) {
    parts.push(el("h3", {}, "Attempts"), el("ul", {}, view.attempts.slice(-20).map((one) => el("li", {}, ago(one.at), ": ", one.failure ? `${one.failure} ${one.detail}` : `HTTP ${one.status}`))));
  }
  return parts.length ? panel("History", ...parts) : null;
}

function about(view) {
  const rows = [
    ["fetched", view.at === null ? null : ago(view.at)],
    ["language", view.language ? language(view.language) : view.declared && `${view.declared} (declared)`],
    ["kind", view.media_type],
    ["size", view.size ? bytes(view.size) : null],
    ["a copy of", view.copy_of && outside(view.copy_of)],
    ["generation", view.generation],
  ].filter(([, value]) => value !== null && value !== undefined && value !== "");
  return rows.length ? panel("About", el("table", {}, el("tbody", {}, rows.map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, value)))))) : null;
}
