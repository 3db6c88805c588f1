// The notice above the editor: that there is other code which was not checked, and the ways to bring it back.
const PREVIEW_LINES = 4;
const SHOWN_AFRESH_MS = 400;

export function panelFor(form, { drafts, shown, onTake }) {
  const panel = form.querySelector("[data-drafts-panel]");
  const sentence = panel.querySelector("[data-drafts-said]");
  const entry = form.querySelector("template[data-draft-entry]");
  const list = panel.querySelector("ol");
  let others = [];
  let timer = 0;

  function say(words) {
    if (sentence.textContent !== words) sentence.textContent = words; // or it would be read out again
  }

  function show() {
    others = drafts.others(shown());
    panel.hidden = others.length === 0;
    if (panel.hidden) return;
    say(others[0].aside
      ? "Your other code is set aside. It was not checked yet."
      : "Another tab or device has different code for this exercise. Both are kept.");
    panel.querySelector("[data-drafts-count]").textContent =
      others.length === 1 ? "Look at it" : `All ${others.length} that were not checked`;
    list.replaceChildren(...others.map(element));
  }

  function element(draft) {
    const item = entry.content.cloneNode(true).firstElementChild;
    const lines = draft.text.replace(/\n+$/, "").split("\n");
    const moment = new Date(draft.at);
    const style = moment.toDateString() === new Date().toDateString()
      ? { timeStyle: "short" }
      : { dateStyle: "medium", timeStyle: "short" };
    const time = item.querySelector("time");
    time.dateTime = moment.toISOString();
    time.textContent = new Intl.DateTimeFormat(undefined, style).format(moment);
    item.querySelector("[data-lines]").textContent = lines.length === 1 ? "1 line" : `${lines.length} lines`;
    item.querySelector("code").textContent = preview(lines);
    item.querySelector("[data-restore]").addEventListener("click", () => onTake(draft.id));
    item.querySelector("[data-discard]").addEventListener("click", () => {
      if (window.confirm("Discard this code for good?")) drafts.discard(draft.id);
    });
    return item;
  }

  /** The first lines that differ from what is in the editor. */
  function preview(lines) {
    const there = shown().split("\n");
    const first = lines.findIndex((line, number) => line !== there[number]);
    const from = Math.max(0, Math.min(first, lines.length - PREVIEW_LINES));
    const part = lines.slice(from, from + PREVIEW_LINES);
    return [...(from > 0 ? ["…"] : []), ...part, ...(from + part.length < lines.length ? ["…"] : [])].join("\n");
  }

  panel.querySelector("[data-bring-back]").addEventListener("click", () => {
    if (others.length) onTake(others[0].id);
  });
  return {
    show,
    /** The same, once nobody has typed for a moment. */
    showSoon() {
      window.clearTimeout(timer);
      timer = window.setTimeout(show, SHOWN_AFRESH_MS);
    },
  };
}
