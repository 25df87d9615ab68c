import type { DocumentBlock, SourceDocument } from "../../../text/chunk_document.ts";

export type DocumentBuilder = ReturnType<typeof createDocumentBuilder>;

/** Puts a document together from headings and blocks as a parser comes by them. */
export function createDocumentBuilder() {
  const sections: { headings: readonly string[]; blocks: DocumentBlock[] }[] = [];
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
    heading(level: number, text: string): void {
      const cleaned = cleanText(text).replace(/\s+/g, " ").trim();
      if (cleaned === "") return;
      if (level === 1) firstTopHeading ??= cleaned;
      path = [...path.filter((above) => above.level < level), { level, text: cleaned }];
      sections.push({ headings: path.map((part) => part.text), blocks: [] });
    },
    /** A block without text is left out. */
    block(kind: DocumentBlock["kind"], text: string): void {
      const cleaned = cleanText(text);
      if (cleaned.trim() !== "") currentBlocks().push({ kind, text: cleaned });
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
function cleanText(text: string): string {
  return text.toWellFormed()
    .replace(/\r\n?/g, "\n")
    // deno-fmt-ignore
    .replace(/[^\P{Cc}\n\t]|[\u00ad\u200b\u2060\ufeff]/gu, "")
    .replace(/[\u00a0\u202f\u2007]/g, " ");
}

/** Rows as the lines `| a | b |`, with a row of dashes below the header where there is one. */
export function tableText(
  header: readonly string[] | undefined,
  rows: readonly (readonly string[])[],
): string {
  const lines = rows.map(rowText);
  if (header === undefined) return lines.join("\n");
  return [rowText(header), rowText(header.map(() => "---")), ...lines].join("\n");
}

function rowText(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replace(/\s+/g, " ").trim().replaceAll("|", "\\|")).join(" | ")} |`;
}
