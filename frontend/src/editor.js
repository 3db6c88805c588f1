// The code editor: CodeMirror 6, coloured by the page's own CSS variables so that it follows its theme.
import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, Prec } from "@codemirror/state";
import {
  drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { errorMark } from "./error-mark.js";

const theme = EditorView.theme({
  "&": { color: "var(--code-text)", backgroundColor: "transparent", fontSize: "0.875rem" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.65", overflow: "auto", maxHeight: "60vh" },
  ".cm-content": { padding: "0.75rem 0", minHeight: "11.5rem", caretColor: "var(--accent)" },
  ".cm-line": { padding: "0 1rem 0 0.5rem" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--code-faint)", border: "none" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 0.5rem 0 0.75rem", minWidth: "2.25rem" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLine": { backgroundColor: "var(--code-active)" },
  "&.cm-focused .cm-activeLineGutter": { backgroundColor: "var(--code-active)", color: "var(--code-text)" },
  ".cm-cursor": { borderLeft: "2px solid var(--accent)" },
  "& > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": { backgroundColor: "var(--code-selection)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": {
    backgroundColor: "var(--code-selection)",
  },
  ".cm-selectionMatch": { backgroundColor: "var(--code-match)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--code-match)", outline: "1px solid var(--line-strong)" },
  "&.cm-focused .cm-nonmatchingBracket": { backgroundColor: "var(--bad-soft)", color: "var(--bad)" },
  ".cm-panels": { backgroundColor: "var(--surface-2)", color: "var(--text)", borderColor: "var(--line)" },
  ".cm-panel input, .cm-panel button": { font: "inherit" },
  ".cm-error-line, &.cm-focused .cm-error-line": { backgroundColor: "var(--bad-soft)" },
  ".cm-error-gutter": { width: "1.1rem" },
  ".cm-error-gutter .cm-gutterElement": { color: "var(--bad)", textAlign: "center", fontWeight: "700" },
});

const colours = HighlightStyle.define([
  { tag: [tags.comment, tags.lineComment], color: "var(--code-comment)" },
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword, tags.definitionKeyword, tags.moduleKeyword],
    color: "var(--code-keyword)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName),
    tags.function(tags.definition(tags.variableName))], color: "var(--code-function)" },
  { tag: [tags.className, tags.definition(tags.className)], color: "var(--code-class)" },
]);

/**
 * Put an editor in place of a textarea, which stays in the form (hidden) and is kept in step.
 *
 * Tab indents, as everyone expects of an editor. Escape lets the next Tab leave it (CodeMirror's own rule),
 * so that nobody who works by keyboard is caught inside: the help text beside the editor says so.
 *
 * Somebody quick may be typing in the textarea already: focus and selection move over with the text, so that
 * no key goes astray.
 */
export function editorFor(textarea, { onChange, onCheck }) {
  const described = textarea.getAttribute("aria-describedby");
  const check = { key: "Mod-Enter", run: () => (onCheck(), true), preventDefault: true };
  const typing = document.activeElement === textarea;
  const state = EditorState.create({
    doc: textarea.value,
    selection: typing ? selectionOf(textarea) : undefined,
    extensions: [
      Prec.highest(keymap.of([check])),
      lineNumbers(), errorMark(), highlightActiveLineGutter(), highlightActiveLine(), drawSelection(),
      history(), indentOnInput(), bracketMatching(), closeBrackets(), highlightSelectionMatches(),
      EditorState.tabSize.of(4), indentUnit.of("    "), python(), syntaxHighlighting(colours), theme,
      keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, indentWithTab]),
      EditorView.contentAttributes.of({
        "aria-label": "Your code", tabindex: "0", spellcheck: "false", autocorrect: "off", autocapitalize: "off",
        ...(described ? { "aria-describedby": described } : {}),
      }),
      EditorView.updateListener.of((update) => {
        if (!update.docChanged) return;
        textarea.value = update.state.doc.toString();
        onChange(textarea.value);
      }),
    ],
  });
  const view = new EditorView({ state });
  textarea.hidden = true;
  textarea.before(view.dom);
  if (typing) view.focus();
  return view;
}

function selectionOf(textarea) {
  const { selectionStart: start, selectionEnd: end } = textarea;
  return textarea.selectionDirection === "backward" ? { anchor: end, head: start } : { anchor: start, head: end };
}

/** Replace the whole text as one step, so that undo brings the old text back. */
export function replaceText(view, text) {
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, userEvent: "input.replace" });
}
