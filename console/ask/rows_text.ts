import { columnKind, valueText } from "../../src/tool_server/view/page/cell_values.ts";
import type { Column, Row } from "../../src/tool_server/view/page/tool_result.ts";

const separators = { csv: ",", tsv: "\t" } as const;
const lineEnds = { csv: "\r\n", tsv: "\n" } as const;

/**
 * Rows with their columns' names, for a file or a spreadsheet: CSV (RFC 4180), or TSV with the same quotes, which spreadsheets
 * understand. NULL is nothing, an empty text is `""`. A text that a spreadsheet would run as a formula gets an apostrophe
 * before it (OWASP, CSV Injection); numbers and times stay. `guarded` is how many have got one.
 */
export function rowsText(columns: readonly Column[], rows: readonly Row[], format: keyof typeof separators) {
  let guarded = 0;
  const areNumbers = columns.map(({ type }) =>
    columnKind(type) === "number" || /^(?:interval|money|date|time)/.test(type)
  );
  const cell = (value: unknown, isNumber = false) => {
    if (value === null) return "";
    const text = valueText(value);
    if (isNumber || !isFormula(text)) return quoted(text);
    guarded++;
    return quoted(`'${text}`);
  };
  const lines = [
    columns.map(({ name }) => cell(name)),
    ...rows.map((row) => row.map((value, at) => cell(value, areNumbers[at]))),
  ].map((cells) => cells.join(separators[format]) + lineEnds[format]);
  return { text: lines.join(""), guarded };
}

function isFormula(text: string): boolean {
  return /^(?:[\t\r\n]|[\s\ufeff]*[=+\-@＝＋－＠])/u.test(text) && !/^[+-]?\d+(?:\.\d+)?$/.test(text);
}

function quoted(text: string): string {
  return text === "" || /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
