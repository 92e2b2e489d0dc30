// The colours follow the Airflow UI around the frame; a page opened by itself follows the choice kept by the UI, then the system.
(() => {
  "use strict";
  const root = document.documentElement;
  const framed = window.parent !== window;
  const system = window.matchMedia("(prefers-color-scheme: dark)");

  function parentClasses() {
    try {
      return framed ? window.parent.document.documentElement : null;
    } catch {
      return null; // framed by a page of another origin
    }
  }

  function kept() {
    try {
      return window.localStorage.getItem("theme");
    } catch {
      return null;
    }
  }

  function chosen() {
    const around = parentClasses();
    for (const name of ["dark", "light"]) {
      if (around?.classList.contains(name)) return name;
    }
    const choice = kept();
    return choice === "dark" || choice === "light" ? choice : system.matches ? "dark" : "light";
  }

  function apply() {
    const theme = chosen();
    if (root.dataset.theme === theme) return;
    root.dataset.theme = theme;
    root.dispatchEvent(new CustomEvent("themechange"));
  }

  root.dataset.framed = framed ? "yes" : "no";
  apply();
  const around = parentClasses();
  if (around) new MutationObserver(apply).observe(around, { attributes: true, attributeFilter: ["class"] });
  window.addEventListener("storage", apply);
  system.addEventListener("change", apply);

  // A link to a page of Airflow itself would open inside of the frame: the window around it is asked to follow it.
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a.airflow") : null;
    const around = parentClasses();
    if (!link || !around || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const outer = around.ownerDocument.createElement("a");
    outer.href = link.href;
    outer.click();
  });
})();
