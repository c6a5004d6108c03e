// Who labelled how much, and how far people agree.
import { el, fill } from "../../lib/dom.js";
import { count, number, percent, score } from "../../lib/format.js";

export function people(api, name) {
  const body = el("div", {});
  const element = el("section", { class: "panel", "aria-label": "People" }, el("h2", {}, "People"), body);

  async function refresh() {
    let found;
    try {
      found = await api.get(api.path(name, "label/people"));
    } catch {
      return;
    }
    if (!found.people.length) return fill(body, el("p", { class: "muted" }, "Nobody has labelled anything yet."));
    fill(body, table(found), agreement(found));
  }

  function table(found) {
    return el(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Labels by person" },
      el(
        "table",
        {},
        el("thead", {}, el("tr", {}, ["who", "relevant", "not", "passed"].map((word, at) => el("th", { scope: "col", class: at ? "number" : "", title: word === "passed" ? "unsure or skipped" : undefined }, word)))),
        el("tbody", {}, found.people.map((one) => el("tr", {}, el("th", { scope: "row" }, one.name, one.name === found.person && el("small", {}, " (you)")), [one.good, one.bad, one.unsure + one.skipped].map((value) => el("td", { class: "number" }, number(value)))))),
      ),
    );
  }

  function agreement(found) {
    if (!found.pairs.length) return el("p", { class: "muted" }, found.people.length > 1 ? "No two people labelled the same page yet: choose “pages others labelled”." : "Labels of several people are stored separately; the majority counts.");
    const kappa = found.kappa === null ? "" : `, Cohen’s kappa ${score(found.kappa)}`;
    return [
      el("p", {}, `They agree on ${percent(found.agreed)} of the pages that two of them labelled${kappa}.`, found.contested ? ` ${count(found.contested, "page is", "pages are")} contested.` : ""),
      found.pairs.length > 1 && el("ul", {}, found.pairs.slice(0, 6).map((pair) => el("li", {}, `${pair.one} and ${pair.other}: ${percent(pair.agreed)} of ${number(pair.pages)}`, pair.kappa === null ? "" : `, kappa ${score(pair.kappa)}`))),
    ];
  }

  return { element, refresh };
}
