import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { columnKind, valueText } from "../../src/tool_server/view/page/cell_values.ts";
import { sorted } from "../../src/tool_server/view/page/rows_table.ts";
import { wholeCharacters } from "../../src/tool_server/view/page/shown_text.ts";
import type { Column, Row } from "../../src/tool_server/view/page/tool_result.ts";
import { Shown } from "../parts.tsx";
import { type Cell, CellPanel } from "./cell_panel.tsx";
import { columnEdges, move, type Place, within } from "./grid_places.ts";

const rowHeight = 30;
const headingHeight = 46;
/** Beyond what is seen, so that scrolling shows no gaps; in pixels. */
const margin = 240;
const longestCell = 200;

type Sorting = NonNullable<Parameters<typeof sorted>[1]>;

/**
 * Rows of any number in a grid that lays out what is seen alone (WAI-ARIA Authoring Practices, Grid). The keyboard moves over
 * the cells, of which the headings are row 0; Enter sorts by a heading, and opens a cell.
 */
export function RowsGrid({ columns, rows }: {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
}) {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const [sorting, setSorting] = useState<Sorting>();
  const [active, setActive] = useState<Place>({ row: 0, column: 0 });
  const [opened, setOpened] = useState<Cell>();
  const [view, setView] = useState({
    top: 0,
    left: 0,
    width: 1200,
    height: 500,
  });
  const kinds = useMemo(() => columns.map(({ type }) => columnKind(type)), [
    columns,
  ]);
  // settled by the first rows: more of them move nothing
  const edges = useMemo(() => columnEdges(columns, rows), [columns]);
  const shown = useMemo(() => sorted(rows, sorting, kinds[sorting?.column ?? 0] ?? "other"), [rows, sorting]);
  function look(): void {
    const { scrollTop: top, scrollLeft: left, clientWidth: width, clientHeight: height } = box.current ??
      document.documentElement;
    setView({ top, left, width, height });
  }
  useEffect(() => {
    look();
    const observer = new ResizeObserver(look);
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);

  function go(place: Place): void {
    setActive(place);
    const scroller = box.current;
    if (scroller === null) return;
    scroller.scrollLeft = within(
      scroller.scrollLeft,
      scroller.clientWidth,
      edges[place.column] ?? 0,
      edges[place.column + 1] ?? 0,
    );
    if (place.row === 0) return;
    scroller.scrollTop = within(
      scroller.scrollTop,
      scroller.clientHeight - headingHeight,
      (place.row - 1) * rowHeight,
      place.row * rowHeight,
    );
  }
  function enter({ row, column }: Place): void {
    const heading = columns[column];
    if (heading === undefined) return;
    if (row > 0) {
      setOpened({ column: heading, row, value: shown[row - 1]?.[column] });
      return;
    }
    setSorting((before) =>
      before?.column !== column
        ? { column, direction: "ascending" }
        : before.direction === "ascending"
        ? { column, direction: "descending" }
        : undefined
    );
  }
  function onKeyDown(event: KeyboardEvent): void {
    if (event.key === "Enter" || event.key === " ") enter(active);
    else {
      const next = move(active, event, {
        rows: shown.length,
        columns: columns.length,
        page: Math.max(1, Math.floor(view.height / rowHeight) - 2),
      });
      if (next === undefined) return;
      go(next);
    }
    event.preventDefault();
  }

  const width = `${edges[columns.length] ?? 0}px`;
  const firstRow = Math.max(0, Math.floor((view.top - margin) / rowHeight));
  const seenRows = shown.slice(firstRow, Math.ceil((view.top + view.height + margin) / rowHeight));
  const seenColumns = columns.flatMap((column, at) =>
    (edges[at + 1] ?? 0) > view.left - margin &&
      (edges[at] ?? 0) < view.left + view.width + margin
      ? [{ column, at }]
      : []
  );
  const cellId = ({ row, column }: Place) => `${id}-${row}-${column}`;
  const isSeen = seenColumns.some(({ at }) => at === active.column) &&
    (active.row === 0 ||
      (active.row > firstRow && active.row <= firstRow + seenRows.length));
  /** What all cells have in common, headings too. */
  const common = (row: number, column: number) => {
    const left = edges[column] ?? 0;
    const isActive = row === active.row && column === active.column;
    return {
      id: cellId({ row, column }),
      "aria-colindex": column + 1,
      class: `cell ${kinds[column]}${isActive ? " active" : ""}`,
      style: {
        left: `${left}px`,
        width: `${(edges[column + 1] ?? 0) - left}px`,
      },
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
        <div class="headings" role="row" aria-rowindex={1} style={{ width, height: `${headingHeight}px` }}>
          {seenColumns.map(({ column: { name, type }, at }) => (
            <div
              key={at}
              role="columnheader"
              aria-sort={sorting?.column === at ? sorting.direction : "none"}
              title={name}
              {...common(0, at)}
            >
              <span class="name">
                <Shown text={name} />
              </span>
              <span class="type">{type}</span>
            </div>
          ))}
        </div>
        <div role="rowgroup" class="body" style={{ width, height: `${shown.length * rowHeight}px` }}>
          {seenRows.map((row, index) => {
            const at = firstRow + index;
            return (
              <div
                key={at}
                role="row"
                aria-rowindex={at + 2}
                class="line"
                style={{ top: `${at * rowHeight}px`, height: `${rowHeight}px` }}
              >
                {seenColumns.map(({ at: column }) => (
                  <div key={column} role="gridcell" {...common(at + 1, column)}>
                    <CellText value={row[column]} />
                  </div>
                ))}
              </div>
            );
          })}
        </div>
      </div>
      {opened && <CellPanel cell={opened} onClose={() => setOpened(undefined)} />}
    </>
  );
}

function CellText({ value }: { readonly value: unknown }) {
  if (value === null) return <span class="null">NULL</span>;
  return <Shown text={wholeCharacters(valueText(value), longestCell)} />;
}
