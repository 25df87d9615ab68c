import { defined } from "../../../core/defined.ts";
import type { DocumentBlock, PageStart, SourceDocument } from "../../../text/chunk_document.ts";

export type DocumentBuilder = ReturnType<typeof createDocumentBuilder>;

/** Puts a document together from headings and blocks as a parser comes by them. */
export function createDocumentBuilder() {
  const sections: { headings: readonly string[]; page?: number; blocks: DocumentBlock[] }[] = [];
  let path: { level: number; text: string }[] = [];
  let firstTopHeading: string | undefined;

  function currentBlocks(): DocumentBlock[] {
    const last = sections.at(-1);
    if (last !== undefined) return last.blocks;
    const blocks: DocumentBlock[] = [];
    sections.push({ headings: [], blocks });
    return blocks;
  }

  return {
    /** @param level 1 for the outermost */
    heading(level: number, text: string, page?: number): void {
      const cleaned = cleanText(text).replace(/\s+/g, " ").trim();
      if (cleaned === "") return;
      if (level === 1) firstTopHeading ??= cleaned;
      path = [...path.filter((above) => above.level < level), { level, text: cleaned }];
      sections.push({ headings: path.map((part) => part.text), blocks: [], ...defined({ page }) });
    },
    /** A block without text is left out. @param pages of a text that is clean already */
    block(kind: DocumentBlock["kind"], text: string, pages?: readonly PageStart[]): void {
      const shown = cleanText(text);
      const cleaned = kind === "code" ? shown : withoutContents(shown.split("\n"), String).join("\n");
      if (cleaned.trim() !== "") currentBlocks().push({ kind, text: cleaned, ...defined({ pages }) });
    },
    /** @param title the first heading of level 1 takes its place where it is absent or holds that heading */
    build(title: string | undefined, fallbackTitle: string): SourceDocument {
      const given = cleanText(title ?? "").replace(/\s+/g, " ").trim();
      // a page's title often names the site too
      const isMore = firstTopHeading !== undefined && given.includes(firstTopHeading);
      return { title: (isMore ? "" : given) || firstTopHeading || fallbackTitle, sections };
    },
  };
}

/** Removes characters that PostgreSQL cannot store, soft hyphens and invisible marks; makes all blanks alike. */
export function cleanText(text: string): string {
  return text.toWellFormed()
    .replace(/\r\n?/g, "\n")
    // deno-fmt-ignore
    .replace(/[^\P{Cc}\n\t]|[\u00ad\u200b\u2060\ufeff]/gu, "")
    .replace(/[\u00a0\u202f\u2007]/g, " ");
}

/**
 * Rows as the lines `| a | b |`, with a row of dashes below the first where that is a header. A row whose cells have lines
 * is a row for each of them.
 */
export function tableText(rows: readonly (readonly string[])[], hasHeader: boolean): string {
  const lines = rows.map(rowText);
  if (hasHeader) lines.splice(1, 0, rowText(rows[0]?.map(() => "---") ?? []));
  return lines.join("\n");
}

function rowText(cells: readonly string[]): string {
  const columns = cells.map((cell) => cell.split("\n"));
  const height = Math.max(1, ...columns.map(({ length }) => length));
  return Array.from({ length: height }, (_, at) => {
    // the blanks before a line of code say something
    const texts = columns.map((lines) => at > 0 ? (lines[at] ?? "").trimEnd() : (lines[at] ?? "").trim());
    return `| ${texts.map((text) => text.replaceAll("|", "\\|")).join(" | ")} |`;
  }).join("\n");
}

/** How many lines in a row make a table of contents: a list of prices may have the same dots. */
const fewestEntries = 3;

/** Leaves out tables of contents: lines that end in dots and a page's number, which grows, and a line between two of them. */
export function withoutContents<Line>(lines: readonly Line[], textOf: (line: Line) => string): Line[] {
  const pages = lines.map((line) => pageOfEntry(textOf(line)));
  const isContents = new Array<boolean>(lines.length).fill(false);
  for (let first = 0; first < lines.length; first++) {
    if (pages[first] === undefined) continue;
    let last = first;
    let entries = 1;
    for (let at = first + 1; at < lines.length && at - last <= 2; at++) {
      const page = pages[at];
      if (page === undefined) continue;
      if (page < (pages[last] ?? 0)) break;
      last = at;
      entries++;
    }
    if (entries >= fewestEntries) isContents.fill(true, first, last + 1);
    first = last;
  }
  return lines.filter((_, at) => !isContents[at]);
}

/** The number that a line of a table of contents ends with; 0 for a Roman one. */
function pageOfEntry(line: string): number | undefined {
  const found = /(?:(?:\.[ \u00a0]?){4}|(?:…[ \u00a0]?){2})[.… \u00a0]*(\d{1,4}|[ivxlc]{1,7})\s*$/i.exec(
    line,
  );
  return found?.[1] === undefined ? undefined : Number(found[1]) || 0;
}
