import { extractTextItems, getDocumentProxy, getMeta } from "unpdf";
import type { SourceDocument } from "../../text/chunk_document.ts";
import { createDocumentBuilder } from "./document_builder.ts";
import { joinLines, mostCommonSize, pageLines, type PdfLine, withoutRunningLines } from "./pdf_lines.ts";

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
    const lines = withoutRunningLines(items.map(pageLines)).flat();
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
  // what programs that make PDFs write where nobody gave a title
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
    const text = joinLines(paragraph.map((line) => line.text));
    const level = levelOf(paragraph[0]?.size ?? 0);
    if (level > 0 && text.length <= longestHeading) builder.heading(level, text);
    else builder.block("paragraph", text);
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
