import { columnKind, compareValues, valueText } from "./cell_values.ts";
import { type Child, element, type PageElement } from "./page_dom.ts";
import { expandableText, shownText, wholeCharacters } from "./shown_text.ts";
import type { Column, Row } from "./tool_result.ts";

/** A browser lays out no more in good time. */
const mostCells = 12_000;
const mostColumns = 100;

type Direction = "ascending" | "descending";

export interface Sorting {
  readonly column: number;
  readonly direction: Direction;
}

/** A table that is sorted by its columns' headings: upwards, downwards, and as the rows came. */
export function createRowsTable(columns: readonly Column[], rows: readonly Row[]) {
  const shownColumns = columns.slice(0, mostColumns);
  const kinds = shownColumns.map(({ type }) => columnKind(type));
  const body = element("tbody");
  const note = element("p", { class: "note" });
  // what is expanded stays so, wherever its row goes
  const made = new Map<Row, PageElement>();
  let all = rows;
  let sorting: Sorting | undefined;

  const headings = shownColumns.map(({ name, type }, index) => {
    const button = element(
      "button",
      { type: "button" },
      element("span", { class: "name" }, shownText(shortName(name))),
      element("span", { class: "arrow", "aria-hidden": "true" }),
      ...(type === "other" ? [] : [element("span", { class: "type" }, type)]),
    );
    const heading = element(
      "th",
      { scope: "col", class: kinds[index] ?? "other", "aria-sort": "none" },
      button,
    );
    button.addEventListener("click", () => {
      sorting = nextSorting(sorting, index);
      show();
    });
    return heading;
  });

  function show(): void {
    for (const [index, heading] of headings.entries()) {
      heading.setAttribute("aria-sort", sorting?.column === index ? sorting.direction : "none");
    }
    const most = Math.floor(mostCells / Math.max(1, shownColumns.length));
    const shown = sorted(all, sorting, kinds[sorting?.column ?? 0] ?? "other").slice(0, most);
    body.replaceChildren(...shown.map((row) => {
      const known = made.get(row) ?? rowElement(row);
      made.set(row, known);
      return known;
    }));
    const notes = [
      shown.length < all.length ? `The first ${shown.length} of ${all.length} rows are shown.` : "",
      shownColumns.length < columns.length
        ? `The first ${shownColumns.length} of ${columns.length} columns are shown.`
        : "",
    ];
    note.textContent = notes.filter((text) => text !== "").join(" ");
    note.hidden = note.textContent === "";
  }

  function rowElement(row: Row): PageElement {
    return element(
      "tr",
      {},
      ...shownColumns.map(({ name }, index) => {
        const value = row[index];
        if (value === null) return cell(`${kinds[index]} null`, "NULL");
        return cell(kinds[index] ?? "other", expandableText(valueText(value), shortName(name)));
      }),
    );
  }

  show();
  const table = element(
    "table",
    {},
    element("caption", { class: "unseen-caption" }, "Rows; the buttons in the headings sort them"),
    element("thead", {}, element("tr", {}, ...headings)),
    body,
  );
  return {
    element: element(
      "div",
      { class: "rows" },
      // it scrolls, so the keyboard must reach it
      element("div", { class: "scroll", role: "region", "aria-label": "Rows", tabindex: 0 }, table),
      note,
    ),
    replaceRows(rows: readonly Row[]): void {
      all = rows;
      show();
    },
  };
}

/** NULL goes last either way: what has no value has no place. */
export function sorted(
  rows: readonly Row[],
  sorting: Sorting | undefined,
  kind: ReturnType<typeof columnKind>,
): readonly Row[] {
  if (sorting === undefined) return rows;
  const { column, direction } = sorting;
  const sign = direction === "ascending" ? 1 : -1;
  return rows.toSorted((a, b) => {
    const [left, right] = [a[column], b[column]];
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    return sign * compareValues(kind, left, right);
  });
}

export function nextSorting(before: Sorting | undefined, column: number): Sorting | undefined {
  if (before?.column !== column) return { column, direction: "ascending" };
  return before.direction === "ascending" ? { column, direction: "descending" } : undefined;
}

function cell(kind: string, content: Child): PageElement {
  return element("td", { class: kind }, element("div", { class: "cell" }, content));
}

const longestName = 60;

export function shortName(name: string): string {
  return name.length > longestName ? `${wholeCharacters(name, longestName)}\u2026` : name;
}
