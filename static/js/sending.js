// One press of a button sends one submission.
//
// Each press gets a key, made here, which goes along with the form: the server makes one submission of all that comes
// with the same key and the same text. A press that fails (no answer, or a server that is in trouble) may have
// arrived all the same, so the next one of the same text has the same key.
//
// While a form is sent, a further press does nothing, whether it is a click, Enter or Ctrl Enter. A double click, or
// a key that bounces, may come when the first answer is here already: within a second, the same text is not sent again.
(() => {
  const SAME_PRESS_MS = 1000;
  const form = document.querySelector("form[data-exercise], form[data-question]");
  if (!form) return;
  const key = form.querySelector("[name=idempotency_key]");
  const buttons = [...form.querySelectorAll(".actions button")];
  let last = null; // what was sent last, and when
  let unsure = null; // the same, where nobody knows whether it has arrived
  let focused = null;

  const now = () => performance.now();
  const isUnderWay = () => form.dataset.sending === "true";

  function makeKey() {
    const numbers = crypto.getRandomValues(new Uint32Array(4)); // randomUUID needs HTTPS
    return Array.from(numbers, (one) => one.toString(16).padStart(8, "0")).join("");
  }

  function contentOf(submitter) {
    const kind = submitter?.name === "kind" ? submitter.value : "check";
    return JSON.stringify([kind, ...new FormData(form).getAll("source")]);
  }

  function onSubmit(event) {
    const content = contentOf(event.submitter);
    const again = last !== null && last.content === content && now() - last.at < SAME_PRESS_MS;
    if (isUnderWay() || (again && unsure === null)) {
      event.preventDefault();
      event.stopImmediatePropagation();
      return;
    }
    if (unsure !== content) key.value = makeKey();
    unsure = content;
    last = { content, at: now() };
  }

  function begin() {
    form.dataset.sending = "true";
    focused = buttons.includes(document.activeElement) ? document.activeElement : null;
    for (const button of buttons) button.disabled = true;
  }

  function end(event) {
    delete form.dataset.sending;
    for (const button of buttons) button.disabled = false;
    // A button that is disabled loses the keyboard: whoever works by it goes on where they were.
    if (focused && document.activeElement === document.body) focused.focus({ preventScroll: true });
    const status = event.detail.xhr?.status ?? 0;
    if (status >= 200 && status < 500) unsure = null;
    if (!event.detail.successful) last = null; // it may be tried again at once
  }

  form.addEventListener("submit", onSubmit, { capture: true });
  form.addEventListener("htmx:beforeSend", begin);
  form.addEventListener("htmx:afterRequest", end);
  // A page that is gone back to begins anew.
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) last = unsure = null;
  });
})();
