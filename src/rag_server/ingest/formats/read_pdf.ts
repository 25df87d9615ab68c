import { getDocumentProxy, getMeta } from "unpdf";
import type { PageStart, SourceDocument } from "../../../text/chunk_document.ts";
import { createDocumentBuilder, tableText, withoutContents } from "./document_builder.ts";
import { cellsOf, lineText, pageLines, type PdfCell, type PdfItem, type PdfLine } from "./page_lines.ts";
import { findTables, type PdfTable } from "./pdf_tables.ts";
import { mostCommon, withoutRunningLines } from "./running_lines.ts";
import { encrypted } from "./zipped/zip_archive.ts";

/** Texts of pages that have none themselves, by page, from 1. */
export type PageTexts = ReadonlyMap<number, string>;

/**
 * A PDF's text as a document: lines joined to paragraphs, larger type as headings, without what stands at the head or
 * foot of page after page.
 *
 * @param pageTexts optional; where it is given, a file that has further pages without text gives their numbers instead
 * @throws {Error} pdf.js's, for what is no PDF or is broken; where it needs a password, or a character map of Adobe's
 */
export async function readPdf(bytes: Uint8Array, fallbackTitle: string): Promise<SourceDocument>;
export async function readPdf(
  bytes: Uint8Array,
  fallbackTitle: string,
  pageTexts: PageTexts | undefined,
): Promise<SourceDocument | readonly number[]>;
export async function readPdf(bytes: Uint8Array, fallbackTitle: string, pageTexts?: PageTexts) {
  const maps = new Set<string>();
  const pdf = await openPdf(bytes, maps);
  try {
    const pages: PdfCell[][] = [];
    for (let page = 1; page <= pdf.numPages; page++) pages.push(cellsOf(await itemsOf(pdf, page)));
    if (pageTexts !== undefined) {
      const missing = pages.flatMap((page, at) => page.length > 0 || pageTexts.has(at + 1) ? [] : [at + 1]);
      if (missing.length > 0) return missing;
      const others = pages.flat();
      for (const [page, text] of pageTexts) pages[page - 1] = cellsOfText(text, others);
    }
    const starts = new Set<number>();
    const lines = withoutRunningLines(pages).flatMap((cells, at) => pageLines(cells, at + 1, starts));
    if (maps.size > 0 && !lines.some(({ text }) => /\p{L}/u.test(text))) {
      throw new Error(`it needs the character map ${[...maps].join()}; save it with its fonts embedded`);
    }
    return documentOf(withoutContents(lines, ({ text }) => text), await titleOf(pdf), fallbackTitle);
  } finally {
    await pdf.loadingTask.destroy();
  }
}

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>;

/** @param maps takes the names of character maps that the file's fonts name and pdf.js does not find */
function openPdf(bytes: Uint8Array, maps: Set<string>): Promise<Pdf> {
  // pdf.js makes one itself
  class BinaryDataFactory {
    fetch({ kind, filename }: { kind: string; filename: string }) {
      if (kind === "cMapUrl") maps.add(filename.replace(".bcmap", ""));
      return Promise.reject(new Error("it is not here"));
    }
  }
  return getDocumentProxy(bytes, { verbosity: 0, BinaryDataFactory }).catch((error: Error) => {
    throw error.name === "PasswordException" ? new Error(encrypted) : error;
  });
}

async function itemsOf(pdf: Pdf, number: number): Promise<PdfItem[]> {
  const page = await pdf.getPage(number);
  const { items } = await page.getTextContent();
  page.cleanup();
  return items.flatMap((item) => {
    if (!("str" in item)) return [];
    const { str, width, fontName: font, hasEOL, transform: [, , c, d, x, y] } = item;
    return [{ str, x, y, width, font, fontSize: Math.hypot(c, d), hasEOL }];
  });
}

/** In points. */
const usualSize = 10;

/** Text as though it stood on a page, a line below the other, in the type that most of the file's text has. */
function cellsOfText(text: string, others: readonly PdfCell[]): PdfCell[] {
  const font = mostCommon(others, (cell) => cell.font) ?? "";
  const size = mostCommon(others, (cell) => cell.size) ?? usualSize;
  return text.split("\n").flatMap((line, at) => {
    const shown = lineText(line);
    return shown === "" ? [] : [{ text: shown, x: 0, right: shown.length, y: -at * size, size, font }];
  });
}

async function titleOf(pdf: Pdf): Promise<string | undefined> {
  const title: unknown = (await getMeta(pdf)).info["Title"];
  if (typeof title !== "string") return undefined;
  // the titles that programs write where the author gave none
  const isOfProgram =
    /^\(?(?:untitled|anonymous)|^microsoft |^(?:slide|document) ?\d*$|\.(?:docx?|odt|pptx?|indd|tex|dvi|qxd|pdf|rtf)$/i;
  return isOfProgram.test(title.trim()) ? undefined : title;
}

const headingScale = 1.15;
/** A heading of the text's own size, if its type is another. */
const numbered = /^\d+(?:\.\d+)*\.?\s+(?=\p{Lu})/u;
const longestHeading = 150;

function documentOf(lines: readonly PdfLine[], title: string | undefined, fallbackTitle: string) {
  const builder = createDocumentBuilder();
  const bodySize = mostCommon(lines, ({ size }) => size) ?? 0;
  const sizes = [...new Set(lines.map(({ size }) => size).filter((size) => size >= bodySize * headingScale))]
    .sort((one, other) => other - one);
  const bodyFont = mostCommon(lines, ({ font }) => font);
  const levelOf = ({ size, font, text }: PdfLine) => {
    const [number] = font === bodyFont ? [] : numbered.exec(text) ?? [];
    const depth = number === undefined ? 0 : number.split(".").filter((part) => part.trim() !== "").length;
    const level = sizes.indexOf(size) + 1 || (depth && sizes.length + depth);
    return Math.min(6, level);
  };
  for (const paragraph of paragraphsOf(lines)) {
    if ("rows" in paragraph) {
      builder.block("table", tableOf(paragraph), [{ at: 0, page: paragraph.page }]);
      continue;
    }
    const { text, pages } = joinLines(paragraph);
    const level = paragraph[0] === undefined ? 0 : levelOf(paragraph[0]);
    if (level > 0 && text.length <= longestHeading) builder.heading(level, text, pages[0]?.page);
    else builder.block("paragraph", text, pages);
  }
  return builder.build(title, fallbackTitle);
}

/** The first row is the header where no number is in it, and a column at most has no name. */
function tableOf({ rows }: PdfTable): string {
  const first = rows[0] ?? [];
  const hasHeader = first.every((cell) => !/^[\d\s.,%()+-]+$/.test(cell)) &&
    first.filter((cell) => cell === "").length < 2;
  return tableText(rows, hasHeader);
}

/** A paragraph ends at a wider gap, at another size of type, and where a page's last line ends a sentence. */
function* paragraphsOf(lines: readonly PdfLine[]): Iterable<readonly PdfLine[] | PdfTable> {
  let paragraph: PdfLine[] = [];
  for (const part of findTables(lines)) {
    const last = paragraph.at(-1);
    if (last !== undefined && ("rows" in part || endsParagraph(last, part))) {
      yield paragraph;
      paragraph = [];
    }
    if ("rows" in part) yield part;
    else paragraph.push(part);
  }
  if (paragraph.length > 0) yield paragraph;
}

function endsParagraph(last: PdfLine, next: PdfLine): boolean {
  if (Math.abs(last.size - next.size) > last.size * 0.05) return true;
  if (last.font !== next.font && (numbered.test(last.text) || numbered.test(next.text))) return true;
  if (last.page !== next.page) return /[.!?:]["'”’)]?$/.test(last.text);
  const gap = last.y - next.y;
  // a line above the last one begins another column
  if (gap < 0) return /[.!?:]["'”’)]?$/.test(last.text);
  return gap > next.size * 1.7 || /^(?:[•▪◦–-]|\d{1,3}[.)])\s/.test(next.text);
}

/** Lines as one text; a word that was divided at a line's end is whole again. */
function joinLines(lines: readonly PdfLine[]): { text: string; pages: PageStart[] } {
  let text = "";
  const pages: PageStart[] = [];
  for (const line of lines) {
    if (/\p{Ll}-$/u.test(text) && /^\p{Ll}/u.test(line.text)) text = text.slice(0, -1);
    else if (text !== "") text += " ";
    if (pages.at(-1)?.page !== line.page) pages.push({ at: text.length, page: line.page });
    text += line.text;
  }
  return { text, pages };
}
