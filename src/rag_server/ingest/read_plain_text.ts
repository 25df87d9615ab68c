import type { SourceDocument } from "../../text/chunk_document.ts";
import { createDocumentBuilder } from "./document_builder.ts";

/** How a text marks its headings: underlined (reStructuredText), by leading `=` (AsciiDoc), or not at all. */
export type HeadingStyle = "underlined" | "equals" | "none";

/** Text in paragraphs with empty lines between them. */
export function readProse(text: string, style: HeadingStyle, fallbackTitle: string): SourceDocument {
  const builder = createDocumentBuilder();
  const findHeading = style === "underlined"
    ? underlinedHeadings()
    : style === "equals"
    ? equalsHeading
    : noHeading;
  for (const paragraph of text.replace(/\r\n?/g, "\n").split(/\n(?:[^\S\n]*\n)+|\f/)) {
    const found = findHeading(paragraph);
    if (found !== undefined) builder.heading(found.level, found.text);
    const rest = found === undefined ? paragraph : found.rest;
    builder.block(
      /^\s*(?:[-*+•]|\d{1,3}[.)])\s/.test(rest) ? "list" : "paragraph",
      rest.replace(/^\n+/, "").trimEnd(),
    );
  }
  return builder.build(undefined, fallbackTitle);
}

/** Text whose lines mean something each: logs, data, programs. */
export function readLines(text: string, fallbackTitle: string): SourceDocument {
  const builder = createDocumentBuilder();
  builder.block("code", text);
  return builder.build(undefined, fallbackTitle);
}

interface FoundHeading {
  readonly level: number;
  readonly text: string;
  readonly rest: string;
}

function noHeading(): undefined {
  return undefined;
}

function equalsHeading(paragraph: string): FoundHeading | undefined {
  const found = /^(={1,6}) +(\S.*)(?:\n([\s\S]*))?$/.exec(paragraph.trimStart());
  if (found === null) return undefined;
  return { level: found[1]?.length ?? 1, text: found[2] ?? "", rest: found[3] ?? "" };
}

/** The first kind of line is the outermost heading's, the second the next one's, and so on. */
function underlinedHeadings(): (paragraph: string) => FoundHeading | undefined {
  const styles: string[] = [];
  return (paragraph) => {
    const found = /^(?:([^\w\s])\1{2,}\n)?[^\S\n]*(\S.*)\n(([^\w\s])\4{2,})[^\S\n]*(?:\n([\s\S]*))?$/
      .exec(paragraph.trimStart());
    const [, over, text, line, mark, rest] = found ?? [];
    if (text === undefined || line === undefined || mark === undefined || line.length < text.trim().length) {
      return undefined;
    }
    const style = over === undefined ? mark : over + mark;
    if (!styles.includes(style)) styles.push(style);
    return { level: styles.indexOf(style) + 1, text, rest: rest ?? "" };
  };
}
