import { extractTextItems, getDocumentProxy, getMeta } from "unpdf";
import type { PageStart, SourceDocument } from "../../../text/chunk_document.ts";
import { cleanText, createDocumentBuilder, withoutContents } from "./document_builder.ts";

/**
 * A PDF's text as a document: lines joined to paragraphs, larger type as headings, without what stands at the head or
 * foot of page after page.
 *
 * @throws {Error} pdf.js's, for what is no PDF, is broken, or needs a password
 */
export async function readPdf(bytes: Uint8Array, fallbackTitle: string): Promise<SourceDocument> {
  const pdf = await getDocumentProxy(bytes, { verbosity: 0 });
  try {
    const { items } = await extractTextItems(pdf);
    const lines = withoutContents(
      withoutRunningLines(items.map((page, at) => pageLines(page, at + 1))).flat(),
      ({ text }) => text,
    );
    return documentOf(lines, await titleOf(pdf), fallbackTitle);
  } finally {
    await pdf.loadingTask.destroy();
  }
}

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>;

async function titleOf(pdf: Pdf): Promise<string | undefined> {
  const { info } = await getMeta(pdf);
  const title: unknown = info["Title"];
  if (typeof title !== "string") return undefined;
  // the titles that programs write where the author gave none
  const isOfProgram =
    /^untitled|^microsoft |^(?:slide|document) ?\d*$|\.(?:docx?|odt|pptx?|indd|tex|dvi|qxd|pdf|rtf)$/i;
  return isOfProgram.test(title.trim()) ? undefined : title;
}

const headingScale = 1.15;
const longestHeading = 150;

function documentOf(
  lines: readonly PdfLine[],
  title: string | undefined,
  fallbackTitle: string,
): SourceDocument {
  const builder = createDocumentBuilder();
  const bodySize = mostCommonSize(lines);
  const sizes = [...new Set(lines.map(({ size }) => size).filter((size) => size >= bodySize * headingScale))]
    .sort((one, other) => other - one);
  const levelOf = (size: number) => Math.min(6, sizes.indexOf(size) + 1);
  for (const paragraph of paragraphsOf(lines)) {
    const { text, pages } = joinLines(paragraph);
    const level = levelOf(paragraph[0]?.size ?? 0);
    if (level > 0 && text.length <= longestHeading) builder.heading(level, text);
    else builder.block("paragraph", text, pages);
  }
  return builder.build(title, fallbackTitle);
}

/** A paragraph ends at a wider gap, at another size of type, and where a page's last line ends a sentence. */
function* paragraphsOf(lines: readonly PdfLine[]): Iterable<readonly PdfLine[]> {
  let paragraph: PdfLine[] = [];
  for (const line of lines) {
    const last = paragraph.at(-1);
    if (last !== undefined && endsParagraph(last, line)) {
      yield paragraph;
      paragraph = [];
    }
    paragraph.push(line);
  }
  if (paragraph.length > 0) yield paragraph;
}

function endsParagraph(last: PdfLine, next: PdfLine): boolean {
  if (Math.abs(last.size - next.size) > last.size * 0.05) return true;
  if (last.page !== next.page) return /[.!?:]["'”’)]?$/.test(last.text);
  const gap = last.y - next.y;
  // a line above the last one begins another column
  if (gap < 0) return /[.!?:]["'”’)]?$/.test(last.text);
  return gap > next.size * 1.7 || /^(?:[•▪◦–-]|\d{1,3}[.)])\s/.test(next.text);
}

/** A line of a page; places are in points from the page's lower left corner, sizes rounded to half a point. */
interface PdfLine {
  /** From 1. */
  readonly page: number;
  readonly text: string;
  readonly y: number;
  readonly size: number;
}

/** A run of text as pdf.js finds it. */
interface PdfItem {
  readonly str: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly fontSize: number;
  readonly hasEOL: boolean;
}

/** A page's lines in the order of its content. */
function pageLines(items: readonly PdfItem[], page: number): PdfLine[] {
  const lines: PdfLine[] = [];
  let run: PdfItem[] = [];
  const end = () => {
    const text = lineText(run);
    const widest = run.reduce(
      (most, item) => item.str.trim().length > most.str.trim().length ? item : most,
      run[0] ?? noItem,
    );
    if (text !== "") lines.push({ page, text, y: widest.y, size: Math.round(widest.fontSize * 2) / 2 });
    run = [];
  };
  for (const item of items) {
    const last = run.findLast(({ str }) => str.trim() !== "");
    const isNext = last !== undefined && item.str.trim() !== "" &&
      Math.abs(item.y - last.y) > Math.max(item.fontSize, last.fontSize) * 0.6;
    if (isNext) end();
    run.push(item);
    if (item.hasEOL) end();
  }
  end();
  return lines;
}

const noItem: PdfItem = { str: "", x: 0, y: 0, width: 0, fontSize: 0, hasEOL: false };

function lineText(run: readonly PdfItem[]): string {
  let text = "";
  let last: PdfItem | undefined;
  for (const item of run) {
    const gap = last === undefined ? 0 : item.x - (last.x + last.width);
    if (gap > item.fontSize * 0.2 && !/\s$/.test(text)) text += " ";
    text += item.str;
    if (item.str !== "") last = item;
  }
  // type has one sign for letters that touch
  return cleanText(text).replace(/[\ufb00-\ufb06]/g, (ligature) => ligature.normalize("NFKC")).replace(
    /\s+/g,
    " ",
  )
    .trim();
}

/** How many lines from a page's head and foot may be running ones. */
const edgeLines = 2;
const fewestPages = 3;

/** Leaves out lines at the head and foot that come back on most pages, numbers aside. */
function withoutRunningLines(pages: readonly (readonly PdfLine[])[]): readonly (readonly PdfLine[])[] {
  if (pages.length < fewestPages) return pages;
  const bodySize = mostCommonSize(pages.flat());
  // headings may differ by their number alone
  const runningKey = ({ text, size }: PdfLine) =>
    size > bodySize ? text : text.replace(/\d+/g, "#").toLowerCase();
  const counts = new Map<string, number>();
  for (const page of pages) {
    const keys = new Set(page.filter((_, at) => isEdge(at, page.length)).map(runningKey));
    for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const most = Math.max(fewestPages, pages.length * 0.6);
  return pages.map((page) =>
    page.filter((line, at) => !isEdge(at, page.length) || (counts.get(runningKey(line)) ?? 0) < most)
  );
}

function isEdge(at: number, length: number): boolean {
  return at < edgeLines || at >= length - edgeLines;
}

/** The size of most letters, 0 where there are none. */
function mostCommonSize(lines: readonly PdfLine[]): number {
  const letters = new Map<number, number>();
  for (const { size, text } of lines) letters.set(size, (letters.get(size) ?? 0) + text.length);
  const [most] = [...letters].sort(([, one], [, other]) => other - one);
  return most?.[0] ?? 0;
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
