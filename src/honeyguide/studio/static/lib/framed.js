// A page as it looked, in a frame that can do nothing: framed(api, name, {visit: 12}).
import { el } from "./dom.js";
import { failed } from "./parts.js";

export function framed(api, name, which) {
  const frame = el("iframe", { sandbox: "", referrerpolicy: "no-referrer", title: "The page as rendered, without scripts or pictures" });
  const load = (place) => api.pass(api.path(name, "page/rendered"), which).then(
    (address) => { frame.src = address; if (place !== frame) place.replaceWith(frame); },
    (error) => {
      if (error?.name === "AbortError") return;
      const note = failed(error, () => load(note));
      place.replaceWith(note);
    },
  );
  load(frame);
  return frame;
}
