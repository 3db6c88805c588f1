// What the tutor does beyond htmx: Ctrl Enter sends, and a new exchange comes into sight.
(() => {
  const panel = document.getElementById("tutor");
  if (!panel) return;

  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.target.id !== "tutor-text") return;
    event.preventDefault();
    event.target.form.requestSubmit();
  });

  panel.addEventListener("htmx:load", (event) => {
    const exchange = event.detail.elt.closest?.(".exchange");
    if (!exchange || event.detail.elt !== exchange) return;
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    exchange.scrollIntoView({ block: "nearest", behavior: calm ? "auto" : "smooth" });
  });
})();
