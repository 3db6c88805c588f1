// What the exercise page does beyond htmx: the editor, the draft, and the mark on the line of an error.
import { draftsFor } from "./drafts.js";
import { editorFor, replaceText } from "./editor.js";
import { showErrorLine } from "./error-mark.js";

const form = document.querySelector("form[data-exercise]");
if (form) start(form);

function start(form) {
  const textarea = form.querySelector("textarea");
  const starter = form.dataset.starter ?? "";
  const drafts = draftsFor(form.dataset.exercise, form.dataset.account);
  const served = textarea.defaultValue;
  const typed = textarea.value !== served; // before this script was there
  let sending = null;

  const view = editorFor(textarea, {
    onChange: (text) => {
      drafts.keep(text);
      showBringBack();
    },
    onCheck: () => form.requestSubmit(form.querySelector("button[value=check]")),
  });
  const text = () => view.state.doc.toString();

  if (typed) keepTyped();
  else restoreDraft();
  showBringBack();
  markError();
  wireButtons();
  wireRequests();

  function restoreDraft() {
    const draft = drafts.draft();
    if (draft === null || draft === served) return;
    if (form.dataset.attempt) setAside(draft); // an earlier attempt was asked for: show that one
    else {
      replaceText(view, draft);
      if (served !== starter) setAside(served);
    }
  }

  function keepTyped() {
    const draft = drafts.draft();
    if (draft !== null && draft !== text()) setAside(draft);
    drafts.keep(text());
  }

  function setAside(old) {
    if (old.trim() && old !== starter) drafts.setAside(old);
  }

  function load(next) {
    const old = text();
    if (old === next) return;
    setAside(old);
    replaceText(view, next);
    showBringBack();
  }

  function showBringBack() {
    const aside = drafts.aside();
    form.querySelector("[data-bring-back]").hidden = aside === null || aside === text();
  }

  function markError() {
    const found = document.querySelector("[data-error-line]");
    if (found) showErrorLine(view, Number(found.dataset.errorLine));
  }

  function wireButtons() {
    form.querySelector("[data-bring-back]").addEventListener("click", () => {
      const aside = drafts.aside();
      if (aside !== null) load(aside);
      view.focus();
    });
    form.querySelector("[data-start-again]").addEventListener("click", () => {
      load(starter);
      view.focus();
    });
    // The frame round the editor belongs to it: a click there is meant for the code.
    view.dom.parentElement.addEventListener("mousedown", (event) => {
      if (event.target !== view.dom.parentElement) return;
      event.preventDefault();
      view.focus();
    });
  }

  function wireRequests() {
    form.addEventListener("htmx:beforeRequest", () => {
      sending = text();
      showErrorLine(view, null);
      document.getElementById("result")?.setAttribute("aria-busy", "true");
    });
    form.addEventListener("htmx:afterRequest", (event) => {
      if (event.detail.successful) drafts.sent(sending);
      else document.getElementById("result")?.removeAttribute("aria-busy");
    });
    form.addEventListener("htmx:sendError", () => say("unreachable"));
    document.body.addEventListener("htmx:load", (event) => onNewContent(event.detail.elt));
  }

  function say(name) {
    const words = document.querySelector(`template[data-say=${name}]`);
    document.getElementById("live").replaceChildren(words.content.cloneNode(true));
  }

  function onNewContent(element) {
    if (element === document.body) return; // the page as it was loaded, which nobody waits for
    const result = element.closest?.("#result") ?? element.querySelector?.("#result") ?? null;
    if (!result) return;
    const loaded = result.querySelector("[data-attempt-source]");
    if (loaded) load(loaded.value);
    markError();
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    result.querySelector(".verdict")?.scrollIntoView({ block: "nearest", behavior: calm ? "auto" : "smooth" });
  }
}
