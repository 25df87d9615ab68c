/** A part of a Markdown document as it can be quoted. */
export interface QuotablePart {
  readonly text: string;
  /** The names of a table row's columns; empty for what is no row. */
  readonly header: string;
  /** Whether it is a row of a table, its head and rules left out. */
  readonly isRow: boolean;
}

const isRow = (text: string): boolean => text.startsWith("|") && text.length > 1;
const isRule = (text: string | undefined): boolean =>
  text !== undefined && /^\|[\s|:-]*-[\s|:-]*$/.test(text);

function cellsOf(row: string): string[] {
  const inner = row.replace(/^\|/, "").replace(/(?<!\\)\|\s*$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** "medium: fee 6.90 euros, up to 10 kg": what a row is of, and what its columns say; a number before its column's name. */
function rowText([first = "", ...rest]: readonly string[], [, ...names]: readonly string[]): string {
  const said = rest.map((cell, index) => {
    const name = names[index] ?? "";
    if (cell === "" || name === "") return cell;
    if (/^[\d.,]+$/.test(cell)) return `${cell} ${cell === "1" ? name.replace(/s$/, "") : name}`;
    return rest.length > 1 ? `${name} ${cell}` : cell;
  }).filter((cell) => cell !== "").join(", ");
  return first === "" || said === "" ? first + said : `${first}: ${said}`;
}

/** A document's sentences with the rows of its tables written out; heads and rules of tables stay as they are. */
export function writeOutTables(sentences: readonly string[]): QuotablePart[] {
  let names: readonly string[] = [];
  return sentences.map((text, at) => {
    if (!isRow(text)) names = [];
    const isHead = isRow(text) && isRule(sentences[at + 1]);
    if (isHead) names = cellsOf(text);
    if (!isRow(text) || isHead || isRule(text)) return { text, header: "", isRow: false };
    const written = rowText(cellsOf(text), names);
    return { text: written, header: names.join(" "), isRow: written !== "" };
  });
}
