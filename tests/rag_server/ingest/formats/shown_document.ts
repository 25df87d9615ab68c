import type { SourceDocument } from "../../../../src/text/chunk_document.ts";

/** Title, headings and texts, each section a list. */
export function shown({ title, sections }: SourceDocument): unknown[] {
  return [
    title,
    ...sections.map(({ headings, blocks }) => [headings.join(" > "), ...blocks.map(({ text }) => text)]),
  ];
}
