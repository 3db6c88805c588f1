// What the exercise page does beyond htmx: the editor, the draft, and the mark on the line of an error.
import { panelFor } from "./drafts/panel.js";
import { draftsFor } from "./drafts/tab.js";
import { editorFor, replaceText } from "./editor.js";
import { showErrorLine } from "./error-mark.js";

const form = document.querySelector("form[data-exercise]");
if (form) start(form);

function start(form) {
  const { exercise, drafts: owner, account, attempt, sentAt, starter = "", sent } = form.dataset;
  const textarea = form.querySelector("textarea");
  const served = textarea.defaultValue;
  const typed = textarea.value !== served; // before this script was there
  let sending = null;
  let panel = null;

  const drafts = draftsFor({
    exercise, owner, account,
    known: new Set(sent === "check" ? [starter, served] : [starter]),
    sentAt: Date.parse(sentAt) || 0,
    onChange: () => panel?.showSoon(),
  });
  const view = editorFor(textarea, {
    onChange: (text) => {
      drafts.keep(text);
      panel?.showSoon();
    },
    onCheck: () => form.requestSubmit(form.querySelector("button[value=check]")),
  });
  const text = () => view.state.doc.toString();

  if (typed) drafts.keep(text());
  else put(drafts.restore({ attempt }));
  panel = panelFor(form, { drafts, shown: text, onTake });
  panel.show();
  fetchDrafts();
  markError();
  wireButtons();
  wireRequests();

  function put(next) {
    if (next !== null && next !== text()) replaceText(view, next);
  }

  /** What was typed on another device goes on here, unless something else stands here already. */
  async function fetchDrafts() {
    await drafts.load();
    if (!attempt && !drafts.hasOwn() && text() === served) put(drafts.goOn());
    panel.show();
  }

  function load(next) {
    if (text() === next) return;
    drafts.setAside(text());
    replaceText(view, next);
    panel.show();
  }

  /** Show an earlier attempt, which the server keeps. */
  function show(source) {
    drafts.sent(source);
    load(source);
  }

  function onTake(id) {
    drafts.setAside(text());
    put(drafts.take(id));
    panel.show();
    view.focus();
  }

  function markError() {
    const found = document.querySelector("[data-error-line]");
    if (found) showErrorLine(view, Number(found.dataset.errorLine));
  }

  function wireButtons() {
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
    form.addEventListener("htmx:beforeRequest", (event) => {
      const { kind } = event.detail.requestConfig.parameters;
      sending = { text: text(), isCheck: kind === "check" };
      showErrorLine(view, null);
      document.getElementById("result")?.setAttribute("aria-busy", "true");
    });
    form.addEventListener("htmx:afterRequest", (event) => {
      if (event.detail.successful && sending.isCheck) drafts.sent(sending.text);
      else if (event.detail.successful) drafts.flush();
      else document.getElementById("result")?.removeAttribute("aria-busy");
    });
    form.addEventListener("htmx:sendError", () => say("unreachable"));
    form.addEventListener("htmx:timeout", () => say("unreachable"));
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
    if (loaded) show(loaded.value);
    markError();
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    result.querySelector(".verdict")?.scrollIntoView({ block: "nearest", behavior: calm ? "auto" : "smooth" });
  }
}
