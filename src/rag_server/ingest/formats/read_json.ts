import type { SourceDocument } from "../../../text/chunk_document.ts";
import { createDocumentBuilder } from "./document_builder.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** What names a record, by the first of these keys that it has. */
const nameKeys = ["title", "name", "subject", "question", "id"];
const longestName = 200;
/** Deeper values are no text that somebody reads. */
const maxDepth = 16;

/**
 * JSON Lines or a JSON list, each object a section with its values a line each, numbers as they are written; nothing of JSON
 * that is neither.
 *
 * @throws {Error} for a line behind the first that is no object, and of the parser, for a list
 */
export function readJson(text: string, fallbackTitle: string): SourceDocument {
  const builder = createDocumentBuilder();
  for (const [at, record] of recordsOf(text).entries()) {
    const nameKey = nameKeys.find((key) => /^(?:string|number)$/.test(typeof record[key]));
    const name = nameKey === undefined ? "" : String(record[nameKey]);
    const isNamed = name.trim() !== "" && name.length <= longestName;
    const lines = Object.entries(record).flatMap(([key, value]) =>
      isNamed && key === nameKey ? [] : linesOf(key, value)
    );
    if (!isNamed && lines.length === 0) continue;
    // below the title, which is no record's name
    builder.heading(2, isNamed ? name : `Record ${at + 1}`);
    builder.block("paragraph", lines.join("\n"));
  }
  return builder.build(fallbackTitle, fallbackTitle);
}

function recordsOf(text: string): readonly JsonObject[] {
  if (text.trimStart().startsWith("[")) {
    const list: readonly unknown[] = JSON.parse(text, asWritten);
    return list.every(isObject) ? list : [];
  }
  const records: JsonObject[] = [];
  for (const [at, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const record = parsed(line);
    if (isObject(record)) records.push(record);
    else if (records.length === 0) return [];
    else throw new Error(`line ${at + 1} is no JSON object`);
  }
  return records;
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line, asWritten);
  } catch {
    return undefined;
  }
}

/** No digit of a number may change. */
const asWritten = (_key: string, value: unknown, context?: { readonly source?: string }) =>
  typeof value === "number" ? context?.source ?? value : value;

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** `key: value`, or a line for each value inside. */
function linesOf(key: string, value: unknown, depth = 0): string[] {
  if (value === null || value === "" || depth > maxDepth) return [];
  if (typeof value !== "object") return [`${key}: ${value}`];
  const isPlain = Array.isArray(value) && value.every((item) => typeof item !== "object");
  if (isPlain) return value.length === 0 ? [] : [`${key}: ${value.join(", ")}`];
  return Object.entries(value).flatMap(([inner, item]) => linesOf(`${key}.${inner}`, item, depth + 1));
}
