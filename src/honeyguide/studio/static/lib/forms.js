// Mistakes in a form: told beside the field, in words, until the field is changed.
//
//   const found = [!name.value && [name, "Give it a name."]];
//   if (wrong(found)) return;                       // told, and the first has the focus
//   await api.post(…).catch((error) => { if (!refused(inputs, error)) throw error; });
import { el } from "./dom.js";

// Tell of each [input, message]; true if there was any.
export function wrong(found) {
  const all = found.filter(Boolean);
  all.forEach(([input, message]) => mark(input, message));
  const [first] = all[0] ?? [];
  if (!first) return false;
  for (let at = first.parentElement; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  first.focus();
  first.scrollIntoView({ block: "center" });
  return true;
}

// The server's refusal, beside the field that it names; false if it names none of these.
export function refused(inputs, error) {
  const input = error.field && inputs[error.field];
  const said = error.message.replace(/\.?$/, ".");
  return Boolean(input) && wrong([[input, said[0].toUpperCase() + said.slice(1)]]);
}

// A whole number that the field may hold; "" is one if it may be left empty.
export function whole(input, most = 1e9) {
  if (input.value === "" && !input.validity.badInput) return !input.required;
  return /^\d+$/.test(input.value) && Number(input.value) <= most;
}

function mark(input, message) {
  clear(input);
  const note = el("small", { class: "wrong", id: `${input.id}-wrong`, role: "alert" }, message);
  const described = input.getAttribute("aria-describedby") ?? "";
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-describedby", `${note.id} ${described}`.trim());
  input.after(note);
  const gone = () => clear(input);
  input.addEventListener("input", gone, { once: true });
  input.addEventListener("change", gone, { once: true });
}

export function clear(input) {
  const note = document.getElementById(`${input.id}-wrong`);
  if (!note) return;
  const described = input.getAttribute("aria-describedby").split(" ").filter((id) => id !== note.id);
  input.removeAttribute("aria-invalid");
  if (described.length) input.setAttribute("aria-describedby", described.join(" "));
  else input.removeAttribute("aria-describedby");
  note.remove();
}
