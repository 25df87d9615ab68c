import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Catalog } from "../catalog.ts";
import type { Span } from "./error_position.ts";
import type { createSqlEditor } from "./sql_editor.ts";

export interface QueryEditorProps {
  readonly text: string;
  readonly onChange: (text: string) => void;
  readonly onRun: () => void;
  readonly catalog: Catalog | undefined;
  /** Where the statement is wrong. */
  readonly fault: Span | undefined;
}

const placeholder = "How many orders were placed last month?\nSELECT …";
const runKeys = /mac|iphone|ipad/i.test(navigator.platform) ? "⌘ Enter" : "Ctrl+Enter";

/** A box for words and SQL: a plain one until the editor is there. */
export function QueryEditor(props: QueryEditorProps) {
  const id = useId();
  const place = useRef<HTMLDivElement>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const [editor, setEditor] = useState<ReturnType<typeof createSqlEditor>>();
  useEffect(() => {
    let made: ReturnType<typeof createSqlEditor> | undefined;
    import("./sql_editor.ts").then(({ createSqlEditor }) => {
      if (place.current === null) return;
      made = createSqlEditor(place.current, id, placeholder, latest);
      if (document.activeElement === area.current) made.view.focus();
      setEditor(made);
      // the plain box does for all but colours and completion
    }).catch(() => {});
    return () => made?.view.destroy();
  }, []);
  // before anybody types on
  useLayoutEffect(() => editor?.setText(props.text), [props.text]);
  useEffect(() => editor?.mark(props.fault), [editor, props.fault]);

  return (
    <div class="field query">
      <div class="row spread">
        <label id={`${id}-label`} for={id} onClick={() => editor?.view.focus()}>Question or SQL</label>
        <span class="hint" id={`${id}-hint`}>{runKeys} runs it</span>
      </div>
      <div ref={place} class="editor" hidden={editor === undefined} />
      {editor === undefined && (
        <textarea
          ref={area}
          id={id}
          class="mono"
          aria-describedby={`${id}-hint`}
          placeholder={placeholder}
          spellcheck={false}
          value={props.text}
          onInput={({ currentTarget }) => props.onChange(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
            event.preventDefault();
            props.onRun();
          }}
        />
      )}
    </div>
  );
}
