import { type PdfCell, rowsOf } from "./page_lines.ts";

/** How many rows from a page's head and foot may be running ones, and how many cells they have: a table's have more. */
const [edgeRows, mostCells] = [2, 3];
/** On how many pages a running line is at least; two are enough for what names a page's number or a print's time. */
const [fewestPages, fewestNumbered] = [3, 2];
/** So many of the pages are most of them; half as many are most of the left or the right ones. */
const most = 0.6;

const letter = /\p{L}/u;
/** A page's number with the word for a page, or apart from other words. */
const pageNumber =
  /(?<!\p{L})(?:page|pg?|pagina|página|pág|seite|sida|side|strona|strana|страница|стр|第)[.\s]*\d|\d\s*(?:頁|页|ページ)|\s[|·•–—]\s+\d+$|^\d+\s+[|·•–—]\s/u;
/** When a browser printed the page. */
const printTime = /^\d+([./-]) ?\d+\1 ?\d+,? \d+[:.]\d\d(?!\S)/;
/** A number before or after words: pages may be missing between two others. */
const endNumber = /^\d{1,4}(?= \p{L})|(?<=\p{L} )\d{1,4}$/u;

/** A row at a page's edge, or a number in it. */
interface Edge {
  readonly cells: readonly PdfCell[];
  /** What it has in common with those of other pages. */
  readonly key: string;
  readonly y: number;
  /** On how many pages it is a running line. */
  readonly fewest: number;
}

/**
 * Leaves out what stands at the head and foot of most pages, numbers aside; and what comes back at the same height on the
 * next page or the one after, as where left and right pages differ.
 */
export function withoutRunningLines(pages: readonly (readonly PdfCell[])[]): readonly (readonly PdfCell[])[] {
  const bodySize = mostCommon(pages.flat(), ({ size }) => size) ?? 0;
  const edges = pages.map((page, at) => edgesOf(page, at, pages.length, bodySize));
  const keys = edges.flatMap((page) => [...new Set(page.map(({ key }) => key))]);
  const pagesOf = Map.groupBy(keys, (key) => key);
  const isRunning = ({ key, y, fewest }: Edge, at: number) => {
    const count = pagesOf.get(key)?.length ?? 0;
    const near = [-2, -1, 1, 2].flatMap((step) => edges[at + step] ?? []);
    const comesBack = near.some((other) => Math.abs(other.y - y) < 2 && other.key === key);
    return count >= fewest && (comesBack || count >= pages.length * most);
  };
  const own = pages.map((page, at) => {
    const running = new Set(edges[at]?.filter((edge) => isRunning(edge, at)).flatMap(({ cells }) => cells));
    return page.filter((cell) => !running.has(cell));
  });
  // pages may be alike
  return own.every((page) => page.length === 0) ? pages : own;
}

/** @param at the page's place, from 0 @param count of the pages @param bodySize the size of most of the text */
function edgesOf(page: readonly PdfCell[], at: number, count: number, bodySize: number): Edge[] {
  const rows = rowsOf(page);
  return rows.flatMap((row, index): Edge[] => {
    if (Math.min(index, rows.length - 1 - index) >= edgeRows || row.length > mostCells) return [];
    const texts = row.toSorted((one, other) => one.x - other.x).map(({ text }) => text.toLowerCase());
    const text = texts.join(" ");
    const y = row[0]?.y ?? 0;
    const edge = (cells: readonly PdfCell[], key: string, fewest: number) => ({ cells, key, y, fewest });
    if (pageNumber.test(text) || texts.includes(`${at + 1}/${count}`)) {
      return [edge(row, text.replace(/\d+/g, "#"), fewestNumbered)];
    }
    // headings may differ by their number alone, but none stands at a page's foot
    const isLarge = index * 2 < rows.length && letter.test(text) && row.some(({ size }) => size > bodySize);
    const keys = isLarge
      ? [texts.map((text) => letter.test(text) ? text : "#").join(" ")]
      : [text, text.replace(endNumber, "#"), ...inStep(text, at)];
    const fewest = isLarge ? Math.max(fewestPages, count * most / 2) : fewestPages;
    const fewestOf = (key: string) => key === text && printTime.test(text) ? fewestNumbered : fewest;
    const [place, least] = row.length > 1 ? [` at ${Math.round(y)}`, fewestPages] : ["", fewestNumbered];
    const numbers = row.filter((cell) => !letter.test(cell.text)).flatMap((cell) =>
      inStep(cell.text, at).map((step) => edge([cell], step + place, least))
    );
    return [...keys.map((key) => edge(row, key, fewestOf(key))), ...numbers];
  });
}

/** The text without one of its numbers, for each, if that goes up by one on each page as numbers of texts do not. */
function inStep(text: string, at: number): string[] {
  return [...text.matchAll(/\d+/g)].map(({ 0: number, index }) =>
    `${text.slice(0, index)}#${Number(number) - at}${text.slice(index + number.length)}`
  );
}

type Typed = Pick<PdfCell, "text" | "size" | "font">;

/** The property of most letters. */
export function mostCommon<Value>(parts: readonly Typed[], of: (part: Typed) => Value): Value | undefined {
  const letters = new Map<Value, number>();
  for (const part of parts) letters.set(of(part), (letters.get(of(part)) ?? 0) + part.text.length);
  return [...letters].sort(([, one], [, other]) => other - one)[0]?.[0];
}
