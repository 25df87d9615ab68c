import { cutToTokens } from "./cut_to_budget.ts";
import { type ChunkOptions, chunkSection, type SectionChunk } from "./chunk_section.ts";
import type { DocumentSection, SourceDocument } from "./source_document.ts";
import { countTokens } from "./token_count.ts";

export interface Chunk {
  /** The headings on a line, as `Title > Section > Subsection`, a blank line, and the text itself. */
  readonly text: string;
}

/** The same input gives the same chunks only while this stays; it changes with what `chunkDocument` makes of a text. */
export const chunkerVersion = 1;

/** Too little to be found by: such a section goes together with its neighbour. */
const tinyTokens = 40;

/**
 * Cuts a document into chunks of bounded length, none of which holds text of two sections unless one of them is tiny, or
 * of two top-level sections unless both are. Headings, paragraphs and sentences stay whole where they fit; tables and
 * code are cut between lines, and a table's header is repeated.
 *
 * @throws {RangeError} where `maxTokens` is below 40 or `overlapTokens` above half of it
 */
export function chunkDocument(document: SourceDocument, options: ChunkOptions): Chunk[] {
  const { maxTokens, overlapTokens } = options;
  if (!(maxTokens >= 40) || !(overlapTokens >= 0 && overlapTokens <= maxTokens / 2)) {
    throw new RangeError(`Cannot chunk: ${maxTokens} tokens with an overlap of ${overlapTokens}`);
  }
  const cut = withHeadingsAsText(document).flatMap((section) => {
    const path = [oneLine(document.title), ...section.headings].filter((heading) => heading !== "");
    const heading = headingLine(path, maxTokens);
    const blocks = heading.isWhole
      ? section.blocks
      : [{ kind: "paragraph" as const, text: path.join("\n\n") }, ...section.blocks];
    const chunks = chunkSection(heading.text, blocks, options);
    return chunks.map((chunk): Piece => ({
      ...chunk,
      path,
      top: section.headings[0],
      isAlone: chunks.length === 1,
    }));
  });
  return joinTiny(cut, maxTokens).map((piece) => ({ text: withHeading(piece) }));
}

interface Piece extends SectionChunk {
  readonly path: readonly string[];
  /** The outermost heading below the title. */
  readonly top: string | undefined;
  /** Whether it is all of its section. */
  readonly isAlone: boolean;
}

/** Headings over nothing become a text of the section above, so that they are in some chunk. */
function withHeadingsAsText({ title, sections: given }: SourceDocument): DocumentSection[] {
  const sections = given.map(({ headings, blocks }) => ({
    headings: withoutTitle(title, headings.map(oneLine).filter((heading) => heading !== "")),
    blocks: blocks.filter(({ text }) => text.trim() !== ""),
  }));
  return sections.flatMap((section, at) => {
    const { headings, blocks } = section;
    const text = headings.at(-1);
    if (blocks.length > 0) return [section];
    const following = sections[at + 1]?.headings;
    const leads = following !== undefined && headings.every((heading, depth) => following[depth] === heading);
    if (text === undefined || leads) return [];
    return [{ headings: headings.slice(0, -1), blocks: [{ kind: "paragraph", text }] }];
  });
}

/** The first heading is often the title again. */
function withoutTitle(title: string, headings: readonly string[]): readonly string[] {
  return headings[0]?.toLowerCase() === oneLine(title).toLowerCase() ? headings.slice(1) : headings;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** A third of a chunk at most: first the inner parts of the path give way, then the end of what is left. */
function headingLine(path: readonly string[], maxTokens: number): { text: string; isWhole: boolean } {
  const most = Math.floor(maxTokens / 3);
  const whole = path.join(" > ");
  if (countTokens(whole) <= most) return { text: whole, isWhole: true };
  const ends = path.length > 2 ? `${path[0]} > … > ${path.at(-1)}` : whole;
  return { text: countTokens(ends) <= most ? ends : cutToTokens(ends, most), isWhole: false };
}

function withHeading({ heading, body }: SectionChunk): string {
  return heading === "" ? body : `${heading}\n\n${body}`;
}

function joinTiny(pieces: readonly Piece[], maxTokens: number): Piece[] {
  const joined: Piece[] = [];
  for (const piece of pieces) {
    const last = joined.at(-1);
    const both = last === undefined ? undefined : join(last, piece, maxTokens);
    if (both === undefined) joined.push(piece);
    else joined.splice(-1, 1, both);
  }
  return joined;
}

function join(first: Piece, second: Piece, maxTokens: number): Piece | undefined {
  if (!first.isAlone || !second.isAlone) return undefined;
  const tiny = [first, second].filter(({ body }) => countTokens(body) <= tinyTokens).length;
  if (tiny === 0 || (tiny === 1 && first.top !== second.top)) return undefined;
  const path = commonPath(first.path, second.path);
  const below = [first, second].map(({ path: own, body }) => [own.slice(path.length).join(" > "), body]);
  const joined = {
    path,
    top: second.top,
    heading: path.join(" > "),
    body: below.flat().filter((part) => part !== "").join("\n\n"),
    isAlone: true,
  };
  return countTokens(withHeading(joined)) <= maxTokens ? joined : undefined;
}

function commonPath(first: readonly string[], second: readonly string[]): readonly string[] {
  const end = first.findIndex((heading, depth) => second[depth] !== heading);
  return end < 0 ? first : first.slice(0, end);
}
