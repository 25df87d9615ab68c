import {
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
import { completeSql } from "./complete_sql.ts";
import type { Span } from "./error_position.ts";
import type { Schema } from "./schema.ts";

interface SqlEditorOptions {
  readonly place: HTMLElement;
  readonly text: string;
  readonly labelId: string;
  readonly hintId: string;
  readonly placeholder: string;
  readonly onChange: (text: string) => void;
  readonly onRun: () => void;
  readonly schema: () => Schema | undefined;
}

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--word)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--text)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--number)" },
  { tag: tags.typeName, color: "var(--accent)" },
  { tag: tags.comment, color: "var(--faint)", fontStyle: "italic" },
]);

const setMark = StateEffect.define<Span | undefined>();
const markField = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, { docChanged, effects }) {
    for (const effect of effects) {
      if (!effect.is(setMark)) continue;
      const { from, to } = effect.value ?? { from: 0, to: 0 };
      return from === to ? Decoration.none : Decoration.set(
        Decoration.mark({ class: "cm-fault" }).range(from, to),
      );
    }
    return docChanged ? Decoration.none : marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Words that are not SQL shall not be completed as such. */
const looksLikeSql = /^\s*(?:\(|--|\/\*|(?:select|with|table|values|explain|show)\b)/i;

/** An editor for SQL and for words. Tab leaves it. */
export function createSqlEditor(options: SqlEditorOptions) {
  const tables: CompletionSource = (context) => {
    const schema = options.schema();
    return schema === undefined ? null : completeSql(context, schema);
  };
  const run = (view: EditorView) => {
    closeCompletion(view);
    options.onRun();
    return true;
  };
  const nonce = document.querySelector<HTMLElement>("script[nonce]")?.nonce;
  const view = new EditorView({
    parent: options.place,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        EditorView.cspNonce.of(nonce ?? ""),
        Prec.highest(keymap.of([
          { key: "Mod-Enter", run },
          { key: "Ctrl-Enter", run },
        ])),
        keymap.of([...completionKeymap, ...historyKeymap, ...defaultKeymap]),
        history(),
        // a text may come by a link: nothing in it stays unseen
        highlightSpecialChars(),
        sql({ dialect: PostgreSQL }),
        syntaxHighlighting(colours),
        bracketMatching(),
        markField,
        placeholder(options.placeholder),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({
          "aria-labelledby": options.labelId,
          "aria-describedby": options.hintId,
        }),
        EditorView.domEventHandlers({
          // a browser replaces coloured text by text with an inline style, which the page's policy refuses
          beforeinput({ inputType, data, isComposing }, view) {
            if (
              inputType !== "insertText" || data === null || isComposing || view.state.selection.main.empty
            ) {
              return false;
            }
            view.dispatch(view.state.replaceSelection(data), {
              userEvent: "input.type",
              scrollIntoView: true,
            });
            return true;
          },
        }),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged) options.onChange(state.doc.toString());
        }),
        autocompletion({
          icons: false,
          override: [keywordCompletionSource(PostgreSQL, true), tables].map((
            source,
          ) =>
          (context) =>
            context.explicit || looksLikeSql.test(context.state.doc.toString()) ? source(context) : null
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
      view.dispatch({ effects: setMark.of(span) });
    },
  };
}
