// Printing works in a window of its own; the frame of the Airflow UI forbids it, so there the button stays away.
(() => {
  "use strict";
  const button = document.getElementById("print");
  if (button && window.parent === window) {
    button.hidden = false;
    button.addEventListener("click", () => window.print());
  }
})();
