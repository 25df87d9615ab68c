import type { SourceDocument } from "../../../text/chunk_document.ts";
import { createDocumentBuilder, tableText } from "./document_builder.ts";
// @ts-types="@types/papaparse"
import papaparse from "papaparse";

/**
 * Values separated by commas, semicolons, tabs or bars, as a table. The first row is the header where no number is in it.
 */
export function readCsv(text: string, fallbackTitle: string): SourceDocument {
  // what Excel writes to say it to itself
  const [line = "", delimiter = ""] = /^sep=(.)\r?\n/.exec(text) ?? [];
  const options = { delimiter, skipEmptyLines: "greedy" } as const;
  const content = text.slice(line.length);
  const strict = papaparse.parse<string[]>(content, options);
  const isBroken = strict.errors.some(({ code }) => code === "MissingQuotes");
  // a quote that nothing ends is a sign as others are
  const { data: rows } = isBroken
    ? papaparse.parse<string[]>(content, { ...options, quoteChar: "\0" })
    : strict;
  const table = rows.map((row) => row.map((cell) => cell.replace(/\s+/g, " ").trim()));
  const hasHeader = table.length > 1 &&
    table[0]?.every((cell) => cell === "" || /\D/.test(cell.replace(/[.,-]/g, ""))) === true;
  const builder = createDocumentBuilder();
  builder.block("table", tableText(table, hasHeader));
  return builder.build(undefined, fallbackTitle);
}
