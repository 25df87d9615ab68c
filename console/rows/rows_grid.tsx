import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { columnKind, valueText } from "../../src/tool_server/view/page/cell_values.ts";
import { nextSorting, sorted, type Sorting } from "../../src/tool_server/view/page/rows_table.ts";
import { visibleParts, wholeCharacters } from "../../src/tool_server/view/page/shown_text.ts";
import type { Column, Row } from "../../src/tool_server/view/page/tool_result.ts";
import { Button, Copy, showModal, Shown, Text } from "../parts.tsx";
import { columnEdges, move, type Place, within } from "./grid_places.ts";
import { valueParts } from "./unseen_values.ts";

// as the style has them
const rowHeight = 30;
const headingHeight = 46;
/** Beyond what is seen, so that scrolling shows no gaps; in pixels. */
const margin = 240;
const longestCell = 200;

export interface GridRows {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
}

/** By which heading a grid's rows are sorted: a state of what holds the grid. */
export const useSorting = () => useState<Sorting>();
type Order = ReturnType<typeof useSorting>;

/** The rows as a grid shows them. */
export function inOrder({ columns, rows }: GridRows, sorting: Sorting | undefined): readonly Row[] {
  return sorted(rows, sorting, columnKind(columns[sorting?.column ?? 0]?.type ?? ""));
}

/**
 * Rows of any number in a grid that lays out what is seen alone (WAI-ARIA Authoring Practices, Grid). The keyboard moves over
 * the cells, of which the headings are row 0; Enter sorts by a heading, and opens a cell.
 */
export function RowsGrid({ columns, rows, order: [sorting, setSorting] }: GridRows & { order: Order }) {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState<Place>({ row: 0, column: 0 });
  const [opened, setOpened] = useState<Cell>();
  const [view, setView] = useState({ scrollTop: 0, scrollLeft: 0, clientWidth: 1200, clientHeight: 500 });
  const kinds = useMemo(() => columns.map(({ type }) => columnKind(type)), [columns]);
  const edges = useMemo(() => columnEdges(columns, rows), [rows]);
  const shown = useMemo(() => inOrder({ columns, rows }, sorting), [rows, sorting]);
  function look(): void {
    if (box.current === null) return;
    const { scrollTop, scrollLeft, clientWidth, clientHeight } = box.current;
    setView({ scrollTop, scrollLeft, clientWidth, clientHeight });
  }
  useEffect(() => {
    look();
    const observer = new ResizeObserver(look);
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);

  const edge = (column: number) => edges[column] ?? 0;
  function go(place: Place): void {
    setActive(place);
    const { row, column } = place;
    if (box.current === null) return;
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = box.current;
    box.current.scrollLeft = within(scrollLeft, clientWidth, edge(column), edge(column + 1));
    const [from, to] = [(row - 1) * rowHeight, row * rowHeight];
    if (row > 0) box.current.scrollTop = within(scrollTop, clientHeight - headingHeight, from, to);
  }
  function enter({ row, column: at }: Place): void {
    const column = columns[at];
    if (column && row > 0) return setOpened({ column, row, value: shown[row - 1]?.[at] });
    setSorting((before) => nextSorting(before, at));
  }
  function onKeyDown(event: KeyboardEvent): void {
    if (event.key === "Enter" || event.key === " ") enter(active);
    else {
      const next = move(active, event, {
        rows: shown.length,
        columns: columns.length,
        page: Math.max(1, Math.floor(view.clientHeight / rowHeight) - 2),
      });
      if (next === undefined) return;
      go(next);
    }
    event.preventDefault();
  }

  const { scrollTop, scrollLeft, clientWidth, clientHeight } = view;
  const [width, height] = [`${edge(columns.length)}px`, `${shown.length * rowHeight}px`];
  const firstRow = Math.max(0, Math.floor((scrollTop - margin) / rowHeight));
  const seenRows = shown.slice(firstRow, Math.ceil((scrollTop + clientHeight + margin) / rowHeight));
  const seenColumns = [...columns.keys()].filter((at) =>
    edge(at + 1) > scrollLeft - margin && edge(at) < scrollLeft + clientWidth + margin
  );
  const cellId = ({ row, column }: Place) => `${id}-${row}-${column}`;
  const isSeen = seenColumns.includes(active.column) &&
    (active.row === 0 || (active.row > firstRow && active.row <= firstRow + seenRows.length));
  /** What all cells have in common, headings too. */
  const common = (row: number, column: number) => {
    const isActive = row === active.row && column === active.column;
    return {
      id: cellId({ row, column }),
      "aria-colindex": column + 1,
      class: `cell ${kinds[column]}${isActive ? " active" : ""}`,
      style: { left: `${edge(column)}px`, width: `${edge(column + 1) - edge(column)}px` },
      onClick: () => {
        go({ row, column });
        if (row === 0 || isActive) enter({ row, column });
      },
    };
  };
  return (
    <>
      <div
        ref={box}
        class="rows-grid"
        role="grid"
        aria-label="Rows"
        aria-rowcount={shown.length + 1}
        aria-colcount={columns.length}
        aria-readonly="true"
        aria-activedescendant={isSeen ? cellId(active) : undefined}
        tabIndex={0}
        onScroll={look}
        onKeyDown={onKeyDown}
      >
        <div class="headings" role="row" aria-rowindex={1} style={{ width }}>
          {seenColumns.map((at) => {
            const { name = "", type = "" } = columns[at] ?? {};
            const sort = sorting?.column === at ? sorting.direction : "none";
            return (
              <div key={at} role="columnheader" aria-sort={sort} title={name} {...common(0, at)}>
                <Text as="span" class="name" text={name} />
                <span class="type">{type === "other" ? "" : type}</span>
              </div>
            );
          })}
        </div>
        <div role="rowgroup" class="body" style={{ width, height, paddingTop: `${firstRow * rowHeight}px` }}>
          {seenRows.map((row, at) => (
            <div key={firstRow + at} role="row" aria-rowindex={firstRow + at + 2} class="line">
              {seenColumns.map((column) => (
                <div key={column} role="gridcell" {...common(firstRow + at + 1, column)}>
                  <CellText value={row[column]} />
                </div>
              ))}
            </div>
          ))}
        </div>
      </div>
      {opened && <CellPanel cell={opened} onClose={() => setOpened(undefined)} />}
    </>
  );
}

function CellText({ value }: { readonly value: unknown }) {
  if (value === null) return <span class="null">NULL</span>;
  const text = valueText(value);
  // a space is none of its end's where it is cut
  const cut = text.length > longestCell ? "…" : "";
  return <Shown parts={valueParts(wholeCharacters(text, longestCell) + cut, false)} />;
}

interface Cell {
  readonly column: Column;
  /** From 1, as the rows are sorted. */
  readonly row: number;
  readonly value: unknown;
}

/** A browser lays out no more in good time. */
const mostShown = 200_000;

/** The whole of a value, beside the table. */
function CellPanel({ cell, onClose }: { readonly cell: Cell; readonly onClose: () => void }) {
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
        <pre
          tabIndex={0}
          role="region"
          aria-label="Value"
        ><Shown parts={isJson ? visibleParts(shown) : valueParts(shown, true)} /></pre>
        <Copy text={value === null ? "" : text} />
      </div>
    </dialog>
  );
}
