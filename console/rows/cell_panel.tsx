import { valueText } from "../../src/tool_server/view/page/cell_values.ts";
import { wholeCharacters } from "../../src/tool_server/view/page/shown_text.ts";
import type { Column } from "../../src/tool_server/view/page/tool_result.ts";
import { Button, Copy, showModal, Shown, Text } from "../parts.tsx";

export interface Cell {
  readonly column: Column;
  /** From 1, as the rows are sorted. */
  readonly row: number;
  readonly value: unknown;
}

/** A browser lays out no more in good time. */
const mostShown = 200_000;

/** The whole of a value, beside the table. */
export function CellPanel({ cell, onClose }: { readonly cell: Cell; readonly onClose: () => void }) {
  const { column, row, value } = cell;
  // JSON over several lines; what the server gives as text stays as PostgreSQL writes it
  const isJson = typeof value === "object" && value !== null;
  const text = value === null ? "NULL" : isJson ? JSON.stringify(value, null, 2) : valueText(value);
  const shown = wholeCharacters(text, mostShown);
  return (
    <dialog
      ref={showModal}
      class="cell-panel"
      aria-label={`${column.name}, row ${row}`}
      onClose={onClose}
      onClick={({ target, currentTarget }) => target === currentTarget && currentTarget.close()}
    >
      <div class="cell-panel-in">
        <div class="row spread">
          <Text as="h2" text={column.name} />
          <Button onClick={({ currentTarget }) => currentTarget.closest("dialog")?.close()}>Close</Button>
        </div>
        <p class="hint">
          {column.type} · row {row.toLocaleString()} · {text.length.toLocaleString()}
          {text.length === 1 ? " character" : " characters"}
          {shown.length < text.length && `, the first ${mostShown.toLocaleString()} are shown`}
        </p>
        <pre tabIndex={0} role="region" aria-label="Value"><Shown text={shown} /></pre>
        <Copy text={value === null ? "" : text} />
      </div>
    </dialog>
  );
}
