// Light or dark, before anything is drawn. Without a choice, the system's.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("keyway.theme");
  } catch {
    // A browser that keeps nothing shows the system's.
  }
  if (chosen === "light" || chosen === "dark") {
    document.documentElement.dataset.theme = chosen;
  }
})();
