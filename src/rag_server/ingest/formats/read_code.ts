import type { SourceDocument } from "../../../text/chunk_document.ts";
import { createDocumentBuilder } from "./document_builder.ts";

/** About as much as a chunk takes. */
const longestPart = 1400;
/** Blanks before a line, or tabs: of declarations, and of those within others. */
const indents = [0, 1, 2, 4, 8];
/** Nobody writes such lines, on an average. */
const longestLine = 400;

/**
 * Source code in parts that end at empty lines: functions and classes, or what is in them where they are long. Nothing of
 * code that a program made small.
 */
export function readCode(text: string, path: string): SourceDocument {
  const builder = createDocumentBuilder();
  const whole = text.replace(/\r\n?/g, "\n");
  const isMinified = whole.length > longestLine * whole.split("\n").length;
  for (const part of isMinified ? [] : partsOf(whole, indents)) builder.block("code", part);
  return builder.build(path, path);
}

function partsOf(text: string, [indent, ...more]: readonly number[]): string[] {
  if (indent === undefined) return [text];
  // a line that only closes what is open belongs to it
  const parts = text.split(new RegExp(`\\n(?:[^\\S\\n]*\\n)+(?=[ \\t]{0,${indent}}[^\\s)}\\]])`));
  return parts.flatMap((part) => part.length > longestPart ? partsOf(part, more) : [part]);
}
