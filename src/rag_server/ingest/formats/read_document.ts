import type { SourceDocument } from "../../../text/chunk_document.ts";
import { decodeText } from "./decode_text.ts";
import { createDocumentBuilder } from "./document_builder.ts";
import { type DocumentFormat, formatOf, suffixOf, unknownFormat } from "./document_formats.ts";
import { readCode } from "./read_code.ts";
import { readCsv } from "./read_csv.ts";
import { readEmail } from "./read_email.ts";
import { readHtml } from "./read_html.ts";
import { readJson } from "./read_json.ts";
import { readMarkdown } from "./read_markdown.ts";
import { type PageTexts, readPdf } from "./read_pdf.ts";
import { readDocx } from "./zipped/read_docx.ts";
import { readEpub } from "./zipped/read_epub.ts";
import { readPptx } from "./zipped/read_pptx.ts";
import { readXlsx } from "./zipped/read_xlsx.ts";

/** The outcome of reading a file; `reason` is for people. */
type DocumentReading =
  | { readonly kind: "document"; readonly document: SourceDocument }
  /** Of a PDF, those without text. */
  | { readonly kind: "pages"; readonly pages: readonly number[] }
  | { readonly kind: "skipped"; readonly reason: string };

/** Why a file is left out that has nothing to search in: it is blank, or has only front matter, navigation or a title that does not show. */
export const noText = "it holds no text";

/** Changes with what `readDocument` makes of a file. */
export const readerVersion = 10;

type TextReader = (text: string, title: string) => SourceDocument;
type BytesReader = (bytes: Uint8Array, title: string) => SourceDocument | Promise<SourceDocument>;

/** The readers of formats that are text. */
const textReaders = {
  Markdown: readMarkdown,
  HTML: readHtml,
  reStructuredText: (text, title) => readProse(text, title, underlinedHeadings()),
  AsciiDoc: (text, title) => readProse(text, title, equalsHeading),
  text: (text, title) => readProse(text, title, () => undefined),
  log: readLines,
  CSV: readCsv,
  JSON: readJson,
  code: readCode,
} satisfies Partial<Record<DocumentFormat, TextReader>>;

/** The readers of formats that are not. */
const bytesReaders: Readonly<
  Record<Exclude<DocumentFormat, keyof typeof textReaders | "PDF">, BytesReader>
> = {
  Word: readDocx,
  PowerPoint: readPptx,
  Excel: readXlsx,
  EPUB: readEpub,
  "e-mail": readEmail,
};

/** Why a file of a format is left out that gave no document. */
const whyEmpty: Readonly<Partial<Record<DocumentFormat, string>>> = {
  PDF: `${noText}; perhaps its pages are pictures`,
  JSON: "it is JSON, but neither a list of objects nor an object a line",
  code: `${noText} that a person wrote`,
};

/**
 * A file as a document, by the suffix of its name and its first bytes.
 *
 * @param path with `/`; its last part without the suffix is the title of a document that has none
 * @param pageTexts of a PDF's pages without text; absent where nobody can tell them
 * @throws {Error} of a parser, for a file that is broken
 */
export async function readDocument(
  path: string,
  bytes: Uint8Array,
  pageTexts?: PageTexts,
): Promise<DocumentReading> {
  const format = formatOf(path);
  if (format === undefined) return { kind: "skipped", reason: unknownFormat };
  if (startsWith(bytes, "version https://git-lfs.github.com/spec/")) {
    throw new Error("it is a pointer of Git LFS; git lfs pull puts the file itself into a folder");
  }
  const name = path.slice(path.lastIndexOf("/") + 1);
  const suffix = suffixOf(name);
  const title = (suffix === "" ? name : name.slice(0, -suffix.length - 1)).replaceAll("_", " ");
  const shown = startsWith(bytes, "%PDF-") ? "PDF" : format;
  if (shown === "PDF") {
    const read = await readPdf(bytes, title, pageTexts);
    return "sections" in read ? found(read, shown) : { kind: "pages", pages: read };
  }
  if (!isTextFormat(shown)) return found(await bytesReaders[shown](bytes, title), shown);
  const text = decodeText(bytes, shown === "HTML" ? declaredCharset(bytes) : undefined);
  if (text === undefined) return { kind: "skipped", reason: "it is not text" };
  return found(textReaders[shown](text, shown === "code" ? path : title), shown);
}

function found(document: SourceDocument, format: DocumentFormat): DocumentReading {
  const hasText = document.sections.some(({ headings, blocks }) => headings.length > 0 || blocks.length > 0);
  return hasText ? { kind: "document", document } : { kind: "skipped", reason: whyEmpty[format] ?? noText };
}

function isTextFormat(format: DocumentFormat): format is keyof typeof textReaders {
  return format in textReaders;
}

function startsWith(bytes: Uint8Array, text: string): boolean {
  return [...text].every((char, at) => bytes[at] === char.charCodeAt(0));
}

/** The encoding that a page names at its start; HTML wants it in the first 1,024 bytes, and browsers read on. */
function declaredCharset(bytes: Uint8Array): string | undefined {
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, 65_536));
  return (/^[^<]{0,3}<\?xml[^>]*encoding\s*=\s*["']([\w:.-]+)/.exec(start) ??
    /<meta[^>]+charset\s*=\s*["']?\s*([\w:.-]+)/i.exec(start))?.[1];
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
    const rest = found?.rest ?? paragraph;
    const isList = /^\s*(?:[-*+•]|\d{1,3}[.)])\s/.test(rest);
    builder.block(isList ? "list" : "paragraph", rest.replace(/^\n+/, "").trimEnd());
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
