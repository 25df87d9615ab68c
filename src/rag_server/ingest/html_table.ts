import { tableText } from "./table_text.ts";

/** A table of HTML; a table inside of a cell is that cell's text. */
export interface TableRows {
  /** @param name of any element within */
  open(name: string): void;
  text(piece: string): void;
  /** True where this was the outermost table's end. */
  close(name: string): boolean;
  build(): string;
}

export function createTableRows(): TableRows {
  const rows: { cells: string[]; isHeader: boolean }[] = [];
  const outside: string[] = [];
  let tables = 0;
  let cellDepth = 0;

  return {
    open(name) {
      if (name === "table") tables++;
      if (tables !== 1) return;
      if (name === "tr") rows.push({ cells: [], isHeader: true });
      if (name !== "td" && name !== "th") return;
      cellDepth++;
      if (rows.length === 0) rows.push({ cells: [], isHeader: true });
      const row = rows.at(-1);
      row?.cells.push("");
      if (row !== undefined && name === "td") row.isHeader = false;
    },
    text(piece) {
      const cells = rows.at(-1)?.cells;
      const cell = cells?.pop();
      if (cellDepth === 0 || cells === undefined || cell === undefined) {
        if (cell !== undefined) cells?.push(cell);
        outside.push(piece);
      } else cells.push(cell === "" ? piece : `${cell} ${piece}`);
    },
    close(name) {
      if (name === "table") tables--;
      if (tables === 1 && (name === "td" || name === "th")) cellDepth--;
      return tables === 0;
    },
    build() {
      const filled = rows.filter(({ cells }) => cells.some((cell) => cell.trim() !== ""));
      const [first, ...rest] = filled;
      const header = first?.isHeader && rest.length > 0 ? first.cells : undefined;
      const body = (header === undefined ? filled : rest).map(({ cells }) => cells);
      // a caption, say
      return [...outside, tableText(header, body)].filter((part) => part !== "").join("\n");
    },
  };
}
