// Light or dark, decided before the first paint. In order: ?theme= in the address, the visitor's own earlier choice, the
// server's --theme, the system's preference. "auto" means the system's preference at every step.
(() => {
  const KEY = "dcp-configurator:theme";
  const MODES = ["auto", "light", "dark"];
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const known = (mode) => (MODES.includes(mode) ? mode : null);

  function stored() {
    try {
      return known(window.localStorage.getItem(KEY));
    } catch {
      return null; // storage is closed to this page: the choice then lasts as long as the page
    }
  }

  let mode =
    known(new URLSearchParams(window.location.search).get("theme")) ?? stored() ?? known(window.dcpServerTheme) ?? "auto";

  const shown = () => (mode === "auto" ? (system.matches ? "dark" : "light") : mode);

  function apply() {
    const theme = shown();
    for (const link of document.querySelectorAll("link[data-dcp-theme]")) {
      link.media = link.dataset.dcpTheme === theme ? "all" : "not all";
    }
    document.documentElement.style.colorScheme = theme;
    if (document.body) {
      document.body.dataset.jpThemeLight = String(theme === "light");
      document.body.dataset.jpThemeName = theme === "light" ? "JupyterLab Light" : "JupyterLab Dark";
      document.body.classList.toggle("theme-light", theme === "light");
      document.body.classList.toggle("theme-dark", theme === "dark");
    }
    document.dispatchEvent(new CustomEvent("dcp-theme", { detail: { mode, theme } }));
  }

  function set(wanted) {
    if (!known(wanted)) {
      throw new RangeError(`dcpTheme.set takes auto, light or dark, not ${wanted}`);
    }
    mode = wanted;
    try {
      window.localStorage.setItem(KEY, mode);
    } catch {
      // as above
    }
    apply();
  }

  system.addEventListener("change", apply);
  // What a toggle inside the page may use; other hosts have no such object, and their own theme menu instead.
  window.dcpTheme = Object.freeze({ apply, set, mode: () => mode, shown });
  apply();
})();
