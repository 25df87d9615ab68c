import type { DocumentBlock, DocumentSection, SourceDocument } from "../../text/chunk_document.ts";

/** Puts a document together from headings and blocks as a parser comes by them. */
export interface DocumentBuilder {
  /** @param level 1 for the outermost */
  heading(level: number, text: string): void;
  /** A block without text is left out. */
  block(kind: DocumentBlock["kind"], text: string): void;
  /** @param title the first heading of level 1 takes its place where it is absent or holds that heading */
  build(title: string | undefined, fallbackTitle: string): SourceDocument;
}

export function createDocumentBuilder(): DocumentBuilder {
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
    heading(level, text) {
      const cleaned = cleanText(text).replace(/\s+/g, " ").trim();
      if (cleaned === "") return;
      if (level === 1) firstTopHeading ??= cleaned;
      path = [...path.filter((above) => above.level < level), { level, text: cleaned }];
      sections.push({ headings: path.map((part) => part.text), blocks: [] });
    },
    block(kind, text) {
      const cleaned = cleanText(text);
      if (cleaned.trim() !== "") currentBlocks().push({ kind, text: cleaned });
    },
    build(title, fallbackTitle): SourceDocument {
      const given = cleanText(title ?? "").replace(/\s+/g, " ").trim();
      const built: readonly DocumentSection[] = sections;
      // a page's title often names the site too
      const isMore = firstTopHeading !== undefined && given.includes(firstTopHeading);
      return { title: (isMore ? "" : given) || firstTopHeading || fallbackTitle, sections: built };
    },
  };
}

/** Without what PostgreSQL cannot store, soft hyphens, and marks that nobody sees; blanks are all alike. */
function cleanText(text: string): string {
  return text.toWellFormed()
    .replace(/\r\n?/g, "\n")
    // deno-fmt-ignore
    .replace(/[^\P{Cc}\n\t]|[\u00ad\u200b\u2060\ufeff]/gu, "")
    .replace(/[\u00a0\u202f\u2007]/g, " ");
}
