import {
  acceptCompletion,
  autocompletion,
  closeCompletion,
  completionKeymap,
  type CompletionSource,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { keywordCompletionSource, PostgreSQL, sql } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorState, Prec, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  highlightSpecialChars,
  keymap,
  placeholder,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { looksLikeSql } from "../sql_names.ts";
import { completeSql } from "./complete_sql.ts";
import type { Span } from "./error_position.ts";
import type { QueryEditorProps } from "./query_editor.tsx";

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--word)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--text)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--number)" },
  { tag: tags.typeName, color: "var(--accent)" },
  { tag: tags.comment, color: "var(--faint)", fontStyle: "italic" },
]);

const setMark = StateEffect.define<DecorationSet>();
const markField = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, { docChanged, effects }) {
    const set = effects.find((effect) => effect.is(setMark))?.value;
    return set ?? (docChanged ? Decoration.none : marks);
  },
  provide: (field) => EditorView.decorations.from(field),
});

const isSql = ({ doc }: EditorState) => looksLikeSql.test(doc.toString());

/** An editor for SQL and for words. Tab leaves it, where no completion is offered. `id` begins the ids of its label and its hint. */
export function createSqlEditor(
  place: HTMLElement,
  id: string,
  shownWhenEmpty: string,
  latest: { readonly current: QueryEditorProps },
) {
  const tables: CompletionSource = (context) => {
    const { catalog } = latest.current;
    return catalog === undefined ? null : completeSql(context, catalog);
  };
  const run = (view: EditorView) => {
    closeCompletion(view);
    latest.current.onRun();
    return true;
  };
  const view = new EditorView({
    parent: place,
    state: EditorState.create({
      doc: latest.current.text,
      extensions: [
        EditorView.cspNonce.of(document.querySelector<HTMLElement>("script[nonce]")?.nonce ?? ""),
        Prec.highest(keymap.of([{ key: "Mod-Enter", run }, { key: "Ctrl-Enter", run }])),
        keymap.of([{ key: "Tab", run: acceptCompletion }, ...completionKeymap]),
        keymap.of([...historyKeymap, ...defaultKeymap]),
        history(),
        // a text may come by a link: nothing in it stays unseen
        highlightSpecialChars({ addSpecialChars: /[\u2060-\u2064\u{e0000}-\u{e007f}]/u }),
        sql({ dialect: PostgreSQL }),
        syntaxHighlighting(colours),
        EditorView.editorAttributes.of(({ state }) => ({ class: isSql(state) ? "" : "is-words" })),
        bracketMatching(),
        markField,
        placeholder(shownWhenEmpty),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({
          "aria-labelledby": `${id}-label`,
          "aria-describedby": `${id}-hint`,
        }),
        EditorView.domEventHandlers({
          // a browser replaces coloured text by text with an inline style, which the page's policy refuses
          beforeinput({ inputType, data, isComposing }, view) {
            const isReplaced = inputType === "insertText" && !isComposing && !view.state.selection.main.empty;
            if (data === null || !isReplaced) return false;
            view.dispatch(view.state.replaceSelection(data), {
              userEvent: "input.type",
              scrollIntoView: true,
            });
            return true;
          },
        }),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged) latest.current.onChange(state.doc.toString());
        }),
        autocompletion({
          icons: false,
          override: [keywordCompletionSource(PostgreSQL, true), tables].map((source) => (context) =>
            context.explicit || isSql(context.state) ? source(context) : null
          ),
        }),
      ],
    }),
  });
  return {
    view,
    setText(text: string): void {
      if (text === view.state.doc.toString()) return;
      view.dispatch({
        changes: { from: 0, to: view.state.doc.length, insert: text },
        selection: { anchor: text.length },
      });
    },
    mark(span: Span | undefined): void {
      const mark = Decoration.mark({ class: "cm-fault" });
      const isSeen = span !== undefined && span.from < span.to;
      const marks = isSeen ? Decoration.set(mark.range(span.from, span.to)) : Decoration.none;
      view.dispatch({ effects: setMark.of(marks) });
    },
  };
}
