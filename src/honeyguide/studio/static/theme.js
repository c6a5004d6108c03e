// Light or dark before the first paint: the system's choice, unless somebody chose here.
// A plain script, not a module, because it must run before the page is drawn.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("honeyguide-theme");
  } catch {
    // storage is forbidden in this browser: the system chooses
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
