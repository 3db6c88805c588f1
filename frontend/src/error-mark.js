// The line where the student's code stopped: tinted, with a mark in the gutter, until that text is changed.
import { RangeSet, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, gutter, GutterMarker } from "@codemirror/view";

const markLine = StateEffect.define();

class ErrorMarker extends GutterMarker {
  toDOM() {
    const mark = document.createElement("span");
    mark.textContent = "✕";
    return mark;
  }
}

const marker = new ErrorMarker();
const lineDecoration = Decoration.line({ class: "cm-error-line" });

/** Null, or the position at the start of the marked line. */
const markedAt = StateField.define({
  create: () => null,
  update(position, transaction) {
    for (const effect of transaction.effects) if (effect.is(markLine)) return effect.value;
    // Once the student edits, the mark could be wrong: no mark is better than a false one.
    return transaction.docChanged ? null : position;
  },
  provide: (field) =>
    EditorView.decorations.from(field, (position) =>
      position === null ? Decoration.none : Decoration.set([lineDecoration.range(position)]),
    ),
});

export function errorMark() {
  return [
    markedAt,
    gutter({
      class: "cm-error-gutter",
      markers(view) {
        const position = view.state.field(markedAt);
        return position === null ? RangeSet.empty : RangeSet.of([marker.range(position)]);
      },
      initialSpacer: () => marker,
    }),
  ];
}

/** Mark a line (1-based; null takes the mark away). A line that does not exist is ignored. */
export function showErrorLine(view, number) {
  const exists = number !== null && number >= 1 && number <= view.state.doc.lines;
  const position = exists ? view.state.doc.line(number).from : null;
  const effects = [markLine.of(position)];
  if (exists) effects.push(EditorView.scrollIntoView(position, { y: "nearest", yMargin: 24 }));
  view.dispatch({ effects });
}
