/** A line of a page; places are in points from the page's lower left corner, sizes rounded to half a point. */
export interface PdfLine {
  readonly page: number;
  readonly text: string;
  readonly y: number;
  readonly size: number;
}

/** A run of text as pdf.js finds it. */
export interface PdfItem {
  readonly str: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly fontSize: number;
  readonly hasEOL: boolean;
}

/** A page's lines in the order of its content. */
export function pageLines(items: readonly PdfItem[], page: number): PdfLine[] {
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
  return text.replace(/[\ufb00-\ufb06]/g, (ligature) => ligature.normalize("NFKC")).replace(/\s+/g, " ")
    .trim();
}

/** How many lines from a page's head and foot may be running ones. */
const edgeLines = 2;
const fewestPages = 3;

/** Leaves out lines at the head and foot that come back on most pages, numbers aside. */
export function withoutRunningLines(pages: readonly (readonly PdfLine[])[]): readonly (readonly PdfLine[])[] {
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
export function mostCommonSize(lines: readonly PdfLine[]): number {
  const letters = new Map<number, number>();
  for (const { size, text } of lines) letters.set(size, (letters.get(size) ?? 0) + text.length);
  const [most] = [...letters].sort(([, one], [, other]) => other - one);
  return most?.[0] ?? 0;
}

/** Lines as one text; a word that was divided at a line's end is whole again. */
export function joinLines(lines: readonly string[]): string {
  return lines.reduce((text, line) => {
    if (/\p{Ll}-$/u.test(text) && /^\p{Ll}/u.test(line)) return text.slice(0, -1) + line;
    return text === "" ? line : `${text} ${line}`;
  }, "");
}
