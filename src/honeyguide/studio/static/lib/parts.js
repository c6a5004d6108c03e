// Small pieces that every screen needs: messages, empty states, waiting, dialogs, form fields.
import { el, fill, plain, say } from "./dom.js";
import { hinted } from "./hints.js";

const PATIENCE_MS = 300; // what is quicker needs no "loading"

let counted = 0;
export function fresh(prefix = "id") {
  counted += 1;
  return `${prefix}-${counted}`;
}

// kind: "error" | "warn" | "good" | "info". An error is a message with its fix.
export function notice(kind, message, ...more) {
  return el("div", { class: ["notice", kind], role: kind === "error" ? "alert" : "status" }, el("p", {}, message), ...more);
}

// Nothing here yet: what that means and what to do next (action: a node, mostly a link or button).
export function empty(title, hint, action = null) {
  return el("div", { class: "empty" }, el("h2", {}, title), el("p", {}, hint), action);
}

export function failed(error, again = null) {
  const topic = location.hash.match(/^#\/c\/[^/?]+/)?.[0];
  if (topic && error?.status === 409 && /not crawled yet/.test(error.message)) {
    return empty("Nothing fetched yet", "Start the crawl; what it finds is shown here.", el("a", { class: "button primary", href: `${topic}/start` }, "Go to the crawl"));
  }
  return notice(
    "error",
    hinted(error?.message ?? String(error)),
    again && el("button", { type: "button", on: { click: again } }, "Try again"),
  );
}

// Put what the promise gives into the place; a quiet "loading" if that takes a while; the error
// with "try again" if it fails. make: () => Promise<node or nodes>.
export async function into(place, make) {
  place.setAttribute("aria-busy", "true");
  const wait = setTimeout(() => {
    if (!place.hasChildNodes()) fill(place, waiting());
    place.classList.add("waiting");
  }, PATIENCE_MS);
  try {
    fill(place, await make());
    return true;
  } catch (error) {
    if (error?.name === "AbortError") return false;
    fill(place, failed(error, () => into(place, make)));
    return false;
  } finally {
    clearTimeout(wait);
    place.classList.remove("waiting");
    place.removeAttribute("aria-busy");
  }
}

export function waiting(words = "Loading …") {
  return el("p", { class: "loading", role: "status" }, words);
}

// A button that cannot be pressed twice and shows what went wrong beside itself.
export function button(label, act, { kind = "", title, key } = {}) {
  const node = el("button", { type: "button", class: kind, title, "aria-keyshortcuts": key }, label, key && el("kbd", {}, key));
  node.addEventListener("click", async () => {
    if (node.getAttribute("aria-disabled") === "true") return;
    node.setAttribute("aria-disabled", "true");
    const before = errors();
    try {
      await act(node);
      before.forEach((error) => error.remove());
    } catch (error) {
      if (error?.name !== "AbortError") toast(error.message, "error");
    } finally {
      node.removeAttribute("aria-disabled");
    }
  });
  return node;
}

// Errors go when something succeeds, and with the screen they belong to.
export function hush() {
  errors().forEach((error) => error.remove());
}

const errors = () => [...document.querySelectorAll("#toasts .error")];

// A message that goes away by itself; errors stay until closed, or until hush(). The same one
// stands there once.
export function toast(message, kind = "info", { undo } = {}) {
  const place = document.getElementById("toasts");
  if (!place) return;
  if (kind === "good") hush();
  for (const old of [...place.children]) if (old.dataset.said === `${kind} ${message}`) old.remove();
  const close = () => node.remove();
  const node = el(
    "div",
    { class: ["toast", kind], dataset: { said: `${kind} ${message}` } },
    el("span", {}, hinted(message)),
    undo && el("button", { type: "button", on: { click: () => { close(); undo(); } } }, "Undo"),
    el("button", { type: "button", class: "quiet", "aria-label": "Close this message", on: { click: close } }, "×"),
  );
  while (place.childElementCount >= 4) place.firstElementChild.remove();
  place.append(node);
  say(message);
  if (kind !== "error") setTimeout(close, 6000);
}

// A labelled form field: field("Seeds", el("textarea", {name: "seeds"}), "One address a line")
export function field(label, input, hint = "") {
  input.id ||= fresh("field");
  const note = hint ? el("small", { id: `${input.id}-hint` }, hint) : null;
  if (note) input.setAttribute("aria-describedby", note.id);
  const check = input.type === "checkbox" || input.type === "radio";
  const name = el("label", { for: input.id }, label);
  return el("div", { class: ["field", check && "check"] }, check ? [input, name] : [name, input], note);
}

// choices: ["a", "b"] or [["a", "what it says"], …]
export function select(choices, value, change) {
  const node = el(
    "select",
    { on: { change: () => change?.(node.value) } },
    choices.map((choice) => {
      const [key, words] = Array.isArray(choice) ? choice : [choice, choice];
      return el("option", { value: key, selected: key === value }, words);
    }),
  );
  return node;
}

// A modal dialog; closes with Escape, gives the focus back. Returns a function that closes it.
export function dialog(title, ...children) {
  const id = fresh("dialog");
  const node = el("dialog", { "aria-labelledby": id });
  const close = () => node.close();
  fill(
    node,
    el("header", {}, el("h2", { id }, title), el("button", { type: "button", class: "quiet", "aria-label": "Close", on: { click: close } }, "×")),
    el("div", { class: "inside" }, ...children),
  );
  node.addEventListener("close", () => node.remove());
  document.body.append(node);
  node.showModal();
  return close;
}

// Ask before something that cannot be taken back; more: what it means. Resolves to true or false.
export function confirm(question, yes = "Yes", no = "Cancel", more = []) {
  return new Promise((answer) => {
    let said = false;
    const close = dialog(
      question,
      ...more,
      el(
        "div",
        { class: "row" },
        el("button", { type: "button", class: "primary", on: { click: () => { said = true; close(); } } }, yes),
        el("button", { type: "button", on: { click: () => close() } }, no),
      ),
    );
    document.querySelector("dialog:last-of-type")?.addEventListener("close", () => answer(said));
  });
}

// Numbers side by side: facts([["visits", number(12)], ["relevant", …]])
export function facts(pairs) {
  return el("dl", { class: "facts" }, pairs.map(([name, value, title]) => el("div", { title }, el("dt", {}, name), el("dd", {}, value))));
}

// Give a text file that was made here to the person.
export function save(name, text, type = "text/plain") {
  const address = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: address, download: plain(name) }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
