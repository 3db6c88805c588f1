// What the page of a question does beyond htmx: an earlier answer comes back into the form, and a result into sight.
(() => {
  const form = document.querySelector("form[data-question]");
  if (!form) return;
  const result = () => document.getElementById("result");

  /** The text of an answer, put into whichever fields the form has. */
  function fill(answer) {
    const keys = answer.toLowerCase().split(/[,;\s]+/);
    for (const field of form.querySelectorAll("[name=source]")) {
      if (field.type === "text") field.value = answer;
      else field.checked = keys.includes(field.value);
    }
  }

  function onNewContent(element) {
    if (element === document.body) return; // the page as it was loaded, which nobody waits for
    const found = element.closest?.("#result") ?? element.querySelector?.("#result") ?? null;
    if (!found) return;
    const loaded = found.querySelector("[data-attempt-source]");
    if (loaded) fill(loaded.value);
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    found.querySelector(".verdict")?.scrollIntoView({ block: "nearest", behavior: calm ? "auto" : "smooth" });
  }

  form.addEventListener("htmx:beforeRequest", () => result()?.setAttribute("aria-busy", "true"));
  form.addEventListener("htmx:afterRequest", (event) => {
    if (!event.detail.successful) result()?.removeAttribute("aria-busy");
  });
  function sayUnreachable() {
    const words = document.querySelector("template[data-say=unreachable]");
    document.getElementById("live").replaceChildren(words.content.cloneNode(true));
  }

  form.addEventListener("htmx:sendError", sayUnreachable);
  form.addEventListener("htmx:timeout", sayUnreachable);
  document.addEventListener("htmx:load", (event) => onNewContent(event.detail.elt));
})();
