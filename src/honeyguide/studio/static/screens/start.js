// Start: a new topic (#/new), or the reins of one that exists (#/c/NAME/start).
import { create } from "./start/create.js";
import { steer } from "./start/steer.js";

export async function show(main, params, api) {
  return params.name ? steer(main, params.name, api) : create(main, api);
}
