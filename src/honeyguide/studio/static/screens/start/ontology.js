// An ontology, one of ours or uploaded, and the concept in it that is the topic.
import { el, fill } from "../../lib/dom.js";
import { count } from "../../lib/format.js";
import { field, fresh, notice, select } from "../../lib/parts.js";
import { encoded } from "./text.js";

const TYPING_MS = 200;

// Returns {node, inputs, chosen: () => ({ontology, concept})}.
export function ontology(api, ours) {
  const list = el("datalist", { id: fresh("concepts") });
  const concept = el("input", { name: "concept", list: list.id, autocomplete: "off", disabled: true });
  const told = el("div", { "aria-live": "polite" });
  const source = select([["", "none"], ...ours.map((name) => [name, `${name} (small, built in)`])], "", () => chose());
  const file = el("input", { type: "file", name: "ontology", accept: ".obo,.owl,.rdf,.ttl,.xml,.nt,.csv,.json,.bin,.txt" });
  let timer = 0;

  function chose() {
    concept.disabled = !source.value;
    concept.value = "";
    fill(told);
    if (source.value) look();
  }

  async function look() {
    if (!source.value) return;
    try {
      const found = await api.get("/api/ontology/concepts", { source: source.value, find: concept.value.trim(), most: 30 });
      fill(list, found.map((one) => el("option", { value: one.name }, one.synonyms.join(", "))));
      if (!found.length) fill(told, notice("warn", "No concept has a name like this."));
      else fill(told);
    } catch (error) {
      if (error.name !== "AbortError") fill(told, notice("error", error.message));
    }
  }

  concept.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, TYPING_MS);
  });
  file.addEventListener("change", async () => {
    if (!file.files.length) return;
    fill(told, el("p", { class: "loading" }, "Reading it …"));
    try {
      const [one] = await encoded(file.files);
      const kept = await api.post("/api/ontology", one);
      source.append(el("option", { value: kept.id }, `${kept.name}, ${count(kept.concepts, "concept")}`));
      source.value = kept.id;
      chose();
    } catch (error) {
      if (error.name !== "AbortError") fill(told, notice("error", error.message));
    }
  });
  return {
    node: el("div", {}, field("Ontology", source), field("… or your own file", file, "OBO, OWL, RDF, SKOS, MeSH, CSV or JSON, up to 10 MB."), field("The topic's concept", concept, "Type some letters, and choose."), list, told),
    inputs: { ontology: source, concept },
    chosen: () => ({ ontology: source.value, concept: source.value ? concept.value.trim() : "" }),
  };
}
