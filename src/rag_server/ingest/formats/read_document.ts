import type { SourceDocument } from "../../../text/chunk_document.ts";
import { createDocumentBuilder } from "./document_builder.ts";
import { type DocumentFormat, formatOf, suffixOf, unknownFormat } from "./document_formats.ts";
import { readHtml } from "./read_html.ts";
import { readMarkdown } from "./read_markdown.ts";
import { readPdf } from "./read_pdf.ts";

/** The outcome of reading a file; `reason` is for people. */
type DocumentReading =
  | { readonly kind: "document"; readonly document: SourceDocument }
  | { readonly kind: "skipped"; readonly reason: string };

/** Why a file is left out that has nothing to search in: it is blank, or has only a title, front matter or navigation. */
export const noText = "it holds no text";

/** Changes with what `readDocument` makes of a file. */
export const readerVersion = 4;

/** The reader of each format. */
const textReaders: Readonly<
  Record<Exclude<DocumentFormat, "PDF">, (text: string, title: string) => SourceDocument>
> = {
  Markdown: readMarkdown,
  HTML: readHtml,
  reStructuredText: (text, title) => readProse(text, title, underlinedHeadings()),
  AsciiDoc: (text, title) => readProse(text, title, equalsHeading),
  text: (text, title) => readProse(text, title, () => undefined),
  log: readLines,
};

/**
 * A file as a document, by the suffix of its name and its first bytes.
 *
 * @param path with `/`; its last part without the suffix is the title of a document that has none
 * @throws {Error} of a parser, for a file that is broken
 */
export async function readDocument(path: string, bytes: Uint8Array): Promise<DocumentReading> {
  const format = formatOf(path);
  if (format === undefined) return { kind: "skipped", reason: unknownFormat };
  const name = path.slice(path.lastIndexOf("/") + 1);
  const suffix = suffixOf(name);
  const title = (suffix === "" ? name : name.slice(0, -suffix.length - 1)).replaceAll("_", " ");
  if (format === "PDF" || startsWith(bytes, "%PDF-")) {
    return found(await readPdf(bytes, title), `${noText}; perhaps its pages are pictures`);
  }
  const text = decodeText(bytes, format === "HTML" ? declaredCharset(bytes) : undefined);
  if (text === undefined) return { kind: "skipped", reason: "it is not text" };
  return found(textReaders[format](text, title), noText);
}

function found(document: SourceDocument, reasonIfEmpty: string): DocumentReading {
  const hasText = document.sections.some(({ headings, blocks }) => headings.length > 0 || blocks.length > 0);
  return hasText ? { kind: "document", document } : { kind: "skipped", reason: reasonIfEmpty };
}

function startsWith(bytes: Uint8Array, text: string): boolean {
  return [...text].every((char, at) => bytes[at] === char.charCodeAt(0));
}

/** The encoding of files without a byte order mark that are not UTF-8 and name none. */
const oldEncoding = "windows-1252";

/**
 * The bytes as text, or undefined where they are none. UTF-16 is known by its byte order mark alone.
 *
 * @param declared what the file says of itself, such as a page's `charset`
 */
function decodeText(bytes: Uint8Array, declared: string | undefined): string | undefined {
  const marked = bytes[0] === 0xff && bytes[1] === 0xfe
    ? "utf-16le"
    : bytes[0] === 0xfe && bytes[1] === 0xff
    ? "utf-16be"
    : undefined;
  if (marked !== undefined) return decodeAs(marked, bytes);
  if (isBinary(bytes)) return undefined;
  return decodeAs("utf-8", bytes) ?? decodeAs(declared, bytes) ?? decodeAs(oldEncoding, bytes);
}

/** The encoding that a page names in its first 1024 bytes, where HTML wants it. */
function declaredCharset(bytes: Uint8Array): string | undefined {
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, 1024));
  return /<meta[^>]+charset\s*=\s*["']?\s*([\w:.-]+)/i.exec(start)?.[1];
}

function decodeAs(encoding: string | undefined, bytes: Uint8Array): string | undefined {
  if (encoding === undefined) return undefined;
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    // bytes that are not in it, or an encoding that nobody knows
    return undefined;
  }
}

const sampleBytes = 65_536;

/** No text has NULs, and hardly any other control characters than blanks, form feeds and escapes. */
function isBinary(bytes: Uint8Array): boolean {
  const sample = bytes.subarray(0, sampleBytes);
  let controls = 0;
  for (const byte of sample) {
    if (byte === 0) return true;
    if (byte < 8 || (byte > 13 && byte < 27)) controls++;
  }
  return controls * 100 > sample.length;
}

/** Finds the heading that a paragraph begins with. */
type FindHeading = (paragraph: string) => FoundHeading | undefined;

interface FoundHeading {
  readonly level: number;
  readonly text: string;
  /** Of the paragraph, after the heading. */
  readonly rest: string;
}

/** Text in paragraphs with empty lines between them. */
function readProse(text: string, fallbackTitle: string, findHeading: FindHeading): SourceDocument {
  const builder = createDocumentBuilder();
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

/** Text whose lines mean something each. */
function readLines(text: string, fallbackTitle: string): SourceDocument {
  const builder = createDocumentBuilder();
  builder.block("code", text);
  return builder.build(undefined, fallbackTitle);
}

/** Of AsciiDoc: `== Heading`. */
function equalsHeading(paragraph: string): FoundHeading | undefined {
  const found = /^(={1,6}) +(\S.*)(?:\n([\s\S]*))?$/.exec(paragraph.trimStart());
  if (found === null) return undefined;
  return { level: found[1]?.length ?? 1, text: found[2] ?? "", rest: found[3] ?? "" };
}

/**
 * Of reStructuredText: a heading has a line of signs below. The first kind of line is the outermost heading's, the second
 * the next one's, and so on.
 */
function underlinedHeadings(): FindHeading {
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
