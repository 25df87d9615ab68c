import { defined } from "../core/defined.ts";
import { countTokens, cutToTokens, endOfTokens, mostLettersPerToken } from "./token_count.ts";
import { splitSentences } from "./sentences.ts";

/** What any file comes to, whatever its format, before it is cut into chunks. */
export interface SourceDocument {
  readonly title: string;
  /** YAML. Optional: none where the format has none. */
  readonly frontMatter?: string;
  /** In reading order. */
  readonly sections: readonly DocumentSection[];
}

export interface DocumentSection {
  /** From the outermost heading to the section's own; none before a document's first heading. */
  readonly headings: readonly string[];
  /** Of its own heading, from 1. Optional: none where the document has no pages. */
  readonly page?: number;
  readonly blocks: readonly DocumentBlock[];
}

export interface DocumentBlock {
  readonly kind: "paragraph" | "list" | "code" | "table" | "quote";
  /** Of a table, a row a line, `| a | b |`; after the header's row comes a row of dashes. */
  readonly text: string;
  /** In order. Optional: none where the document has no pages. */
  readonly pages?: readonly PageStart[];
}

/** Where in a text a page begins, or goes on. */
export interface PageStart {
  /** From 0, as JavaScript counts characters. */
  readonly at: number;
  /** From 1. */
  readonly page: number;
}

export interface ChunkOptions {
  /** Of a whole chunk with its line of headings, as `countTokens` counts. */
  readonly maxTokens: number;
  /** How much of a chunk's end the next chunk of the same section repeats, in whole sentences; 0 for none. */
  readonly overlapTokens: number;
}

interface SectionChunk {
  readonly heading: string;
  readonly body: string;
  readonly page: number | undefined;
  /** In the text of the document, in Unicode characters. */
  readonly start: number;
  /** Excluded. */
  readonly end: number;
}

export interface Chunk {
  /** The headings on a line, as `Title > Section > Subsection`, a blank line, and the text itself. */
  readonly text: string;
  /** All of its headings as on their line; empty where there are none. */
  readonly heading: string;
  /**
   * Its place in the text of the document, in Unicode characters. That text has each section's own heading and its blocks,
   * with an empty line between any two, and no empty lines around a block.
   */
  readonly start: number;
  /** Excluded. */
  readonly end: number;
  /** On which the text below the headings begins, or the heading that is all. Optional: none where the document has no pages. */
  readonly page?: number;
}

/** The same input gives the same chunks only while this stays; it changes with what `chunkDocument` makes of a text. */
export const chunkerVersion = 3;

/** Too little to be found by: such a section goes together with its neighbour. */
const tinyTokens = 40;

/**
 * Cuts a document into chunks of bounded length, none of which holds text of two sections unless one of them is tiny, or
 * of two top-level sections unless both are. Headings, paragraphs and sentences stay whole where they fit; tables and
 * code are cut between lines, and a table's header is repeated; where it is too long for that, each value stands behind its
 * column's name.
 *
 * @throws {RangeError} where `maxTokens` is below 40 or `overlapTokens` above half of it
 */
export function chunkDocument(document: SourceDocument, options: ChunkOptions): Chunk[] {
  const { maxTokens, overlapTokens } = options;
  if (!(maxTokens >= 40) || !(overlapTokens >= 0 && overlapTokens <= maxTokens / 2)) {
    throw new RangeError(`Cannot chunk: ${maxTokens} tokens with an overlap of ${overlapTokens}`);
  }
  const cut = withHeadingsAsText(placedSections(document)).flatMap((section) => {
    const path = [oneLine(document.title), ...section.headings].filter((heading) => heading !== "");
    const heading = headingLine(path, maxTokens);
    const blocks = heading.isWhole
      ? section.blocks
      : [{ kind: "paragraph" as const, text: path.join(betweenBlocks) }, ...section.blocks];
    const chunks = chunkSection({ ...section, heading: heading.text, blocks }, options);
    return chunks.map((chunk): Piece => ({
      ...chunk,
      path,
      top: section.headings[0],
      isAlone: chunks.length === 1,
    }));
  });
  const chunks = joinTiny(cut, maxTokens).map((piece): Chunk => ({
    text: withHeading(piece),
    heading: piece.path.join(" > "),
    start: piece.start,
    end: piece.end,
    ...defined({ page: piece.page }),
  }));
  if (chunks.length > 0 || document.title === "") return chunks;
  // a heading that is the title may be all of the text
  const heading = oneLine(document.title);
  return chunkDocument({ ...document, title: "" }, options).map((chunk) => ({ ...chunk, heading }));
}

/** As Unicode counts them, not as JavaScript does. */
export function countCharacters(text: string): number {
  return text.length - (text.match(/[\u{10000}-\u{10ffff}]/gu)?.length ?? 0);
}

interface PlacedBlock extends DocumentBlock {
  /** Where it begins in the text of the document. Optional: none where it is no part of that. */
  readonly at?: number;
}

interface PlacedSection extends Pick<DocumentSection, "headings" | "page"> {
  readonly blocks: readonly PlacedBlock[];
  /** Where it begins in the text of the document. */
  readonly at: number;
}

/** The sections, with headings on a line each and no empty blocks. */
function placedSections({ title, sections }: SourceDocument): PlacedSection[] {
  let end = -betweenBlocks.length;
  const add = (text: string) => {
    const at = end + betweenBlocks.length;
    end = at + countCharacters(text);
    return at;
  };
  return sections.map(({ headings: given, blocks, page }) => {
    const headings = given.map(oneLine).filter((heading) => heading !== "");
    const filled = blocks.map((block) => ({ ...block, text: trimLines(block.text) }))
      .filter((block) => block.text !== "");
    const own = headings.at(-1);
    const at = own === undefined ? end + betweenBlocks.length : add(own);
    const placed = filled.map((block) => ({ ...block, at: add(block.text) }));
    return { headings: withoutTitle(title, headings), blocks: placed, at, ...defined({ page }) };
  });
}

interface Piece extends SectionChunk {
  readonly path: readonly string[];
  /** The outermost heading below the title. */
  readonly top: string | undefined;
  /** Whether it is all of its section. */
  readonly isAlone: boolean;
}

/** Headings over nothing become a text of the section above, so that they are in some chunk. */
function withHeadingsAsText(sections: readonly PlacedSection[]): PlacedSection[] {
  return sections.flatMap((section, place) => {
    const { headings, blocks, at, page } = section;
    const text = headings.at(-1);
    if (blocks.length > 0) return [section];
    const following = sections[place + 1]?.headings;
    const leads = following !== undefined && headings.every((heading, depth) => following[depth] === heading);
    if (text === undefined || leads) return [];
    const pages = page === undefined ? [] : [{ at: 0, page }];
    return [{ headings: headings.slice(0, -1), blocks: [{ kind: "paragraph", text, at, pages }], at }];
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

function withHeading({ heading, body }: Pick<SectionChunk, "heading" | "body">): string {
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
    page: first.page ?? second.page,
    start: first.start,
    end: second.end,
    isAlone: true,
  };
  return countTokens(withHeading(joined)) <= maxTokens ? joined : undefined;
}

function commonPath(first: readonly string[], second: readonly string[]): readonly string[] {
  const end = first.findIndex((heading, depth) => second[depth] !== heading);
  return end < 0 ? first : first.slice(0, end);
}

/** What is never cut any more. */
interface Part {
  readonly text: string;
  /** What stands between it and the part before, where both are in one chunk. */
  readonly gap: string;
  /** A table's header, for a chunk that begins with a later row of it. */
  readonly header?: string;
  readonly pages?: readonly PageStart[];
  /** Where it begins in the text of the document. Optional: none where it is no part of that. */
  readonly at?: number | undefined;
  /** What it stands for in the text of the document, where that is another text. */
  readonly source?: string;
}

const betweenBlocks = "\n\n";

/** Cuts one section, whose chunks all get the same heading. Blocks stay whole where they fit into a chunk. */
function chunkSection(
  { heading, blocks, at: sectionAt }: Pick<PlacedSection, "blocks" | "at"> & { readonly heading: string },
  { maxTokens, overlapTokens }: ChunkOptions,
): SectionChunk[] {
  const lead = heading === "" ? "" : heading + betweenBlocks;
  // as countTokens() would say, without a look at all of a text that is far too long
  const fits = (body: string) => endOfTokens(lead + body, maxTokens) === lead.length + body.length;
  // what a text costs depends on its surroundings by a token or two
  const room = maxTokens - countTokens(lead) - 2;
  const chunks: SectionChunk[] = [];
  let body = "";
  let isOverlapOnly = true;
  /** Where in `body` the sentences begin that the next chunk may repeat: behind the last table or code. */
  let proseStart = 0;
  /** Of `body`. */
  let pages: readonly PageStart[] = [];
  /** Of `body`, in the text of the document. */
  let start: number | undefined;
  let end = sectionAt;

  function append({ text, gap, header, pages: own = [], at, source = text }: Part, isProse: boolean) {
    const first = header === undefined ? text : `${header}\n${text}`;
    const next = body === "" ? first : body + gap + text;
    if (!fits(next)) return false;
    body = next;
    pages = [...pages, ...pagesFrom(own, text.length - body.length)];
    start ??= at;
    if (at !== undefined) end = at + countCharacters(source);
    isOverlapOnly = false;
    if (!isProse) proseStart = body.length;
    return true;
  }

  function flush(): void {
    if (!isOverlapOnly) chunks.push({ heading, body, page: pages[0]?.page, start: start ?? sectionAt, end });
    isOverlapOnly = true;
    proseStart = 0;
    empty();
  }

  function empty(): void {
    body = "";
    pages = [];
    start = undefined;
  }

  /** Begins a new chunk, with the last one's end where that leaves room. */
  function appendToNew(part: Part, isProse: boolean): void {
    const overlap = isOverlapOnly || part.header !== undefined
      ? ""
      : lastSentences(body, proseStart, overlapTokens);
    const overlapPages = pagesFrom(pages, body.length - overlap.length);
    flush();
    body = overlap;
    pages = overlap === "" ? [] : overlapPages;
    start = overlap === "" ? undefined : end - countCharacters(overlap);
    if (append(part, isProse)) return;
    empty();
    if (append(part, isProse)) return;
    // what stands before a text can make it dearer than it is alone
    for (const piece of placed(cutLong(part.text, Math.floor(room / 2), part.gap), part)) {
      if (append(piece, isProse)) continue;
      flush();
      append(piece, isProse);
    }
  }

  for (const { kind, text, pages, at } of blocks) {
    const isProse = kind !== "code" && kind !== "table";
    const whole = { text, gap: betweenBlocks, at, ...defined({ pages }) };
    if (append(whole, isProse)) continue;
    const parts = fits(text) ? [whole] : placed(partsOf(kind, text, room), whole);
    for (const part of parts) if (!append(part, isProse)) appendToNew(part, isProse);
  }
  flush();
  return chunks;
}

/** Without empty lines around; the first line's indentation stays. */
function trimLines(text: string): string {
  return text.replace(/^(?:[^\S\n]*\n)+/, "").trimEnd();
}

/** Parts of a text, in order, with their pages and places in the document. */
function placed(parts: readonly Part[], { text, pages = [], at }: Part): Part[] {
  let [end, counted] = [0, 0];
  return parts.map((part) => {
    const { source = part.text } = part;
    const start = Math.max(end, text.indexOf(source, end));
    const before = counted + countCharacters(text.slice(end, start));
    end = start + source.length;
    counted = before + countCharacters(source);
    const own = pagesFrom(pages, start, source.length);
    return { ...part, pages: own, at: at === undefined ? undefined : at + before };
  });
}

/** A block's sentences, or its lines, each within `room` tokens. */
function partsOf(kind: DocumentBlock["kind"], text: string, room: number): Part[] {
  if (kind === "table") return rowsOf(text, room);
  if (kind === "code") return partsOfLines(text.split("\n"), room, betweenBlocks);
  const sentences = splitSentences(text);
  return sentences.flatMap(({ text: sentence, start }, at) => {
    const before = sentences[at - 1]?.end;
    const gap = before === undefined ? betweenBlocks : text.slice(before, start);
    return cutLong(sentence, room, gap);
  });
}

/** Those of a text's pages that a part of it is on; where `start` is negative, of a text with so much before it. */
function pagesFrom(pages: readonly PageStart[], start: number, length = Infinity): PageStart[] {
  return pages.filter(({ at }, place) => at < start + length && (pages[place + 1]?.at ?? Infinity) > start)
    .map(({ at, page }) => ({ at: Math.max(0, at - start), page }));
}

function rowsOf(text: string, room: number): Part[] {
  const lines = text.split("\n");
  const caption = lines.slice(0, lines.findIndex((line) => line.startsWith("|")));
  if (caption.length > 0 && caption.length < lines.length - 1) {
    const table = lines.slice(caption.length).join("\n");
    return [...partsOfLines(caption, room, betweenBlocks), ...rowsOf(table, room)];
  }
  const header = /^\|[\s:|-]+\|$/.test(lines[1] ?? "") ? lines.slice(0, 2).join("\n") : undefined;
  if (header === undefined) return partsOfLines(lines, room, betweenBlocks);
  const headerTokens = countTokens(header) + 2;
  if (headerTokens * 2 > room) return namedValues(lines, room);
  const [first, ...rows] = partsOfLines(lines.slice(2), room - headerTokens, "\n");
  if (first === undefined) return [{ text: header, gap: betweenBlocks }];
  // the header goes with the first row wherever that goes
  return [
    { text: `${header}\n${first.text}`, gap: betweenBlocks },
    ...rows.map((row) => ({ ...row, header })),
  ];
}

/** A longer one is no column's name. */
const longestName = 200;

/** A table's values, each behind its column's name; a row begins where a paragraph does. */
function namedValues(lines: readonly string[], room: number): Part[] {
  const [names = [], , ...rows] = lines.map((line) => line.slice(2, -2).split(" | "));
  const withoutDashes = lines.filter((_, at) => at !== 1);
  const isNamed = rows.length > 0 && names.every(({ length }) => length <= longestName);
  if (!isNamed) return partsOfLines(withoutDashes, room, betweenBlocks);
  const parts = rows.flatMap((cells) =>
    cells.flatMap((cell, column) => {
      const label = `${names[column]}: `;
      const own = cell === "" ? [] : cutLong(label + cell, room, column === 0 ? betweenBlocks : "\n");
      return own.map((part) => ({ ...part, source: part.text.replace(label, "") }));
    })
  );
  // or the first values would be looked for in it
  return parts.map((part, at) => at === 0 ? { ...part, source: withoutDashes[0] ?? "" } : part);
}

function partsOfLines(lines: readonly string[], room: number, firstGap: string): Part[] {
  const parts: Part[] = [];
  let gap = firstGap;
  for (const line of lines) {
    // an empty line is a part of what stands between others
    if (line.trim() === "") gap += "\n";
    else {
      parts.push(...cutLong(line.trimEnd(), room, gap));
      gap = "\n";
    }
  }
  return parts;
}

function cutLong(text: string, room: number, firstGap: string): Part[] {
  const parts: Part[] = [];
  // what is longer need not be counted to be too long
  const window = (room + 1) * mostLettersPerToken;
  let rest = text;
  let gap = firstGap;
  for (;;) {
    const start = rest.slice(0, window);
    const end = endOfTokens(start, room);
    if (end === start.length) break;
    const piece = cutToTokens(start, room) || start.slice(0, Math.max(1, end));
    parts.push({ text: piece, gap });
    const following = rest.slice(piece.length);
    rest = following.trimStart();
    gap = rest.length < following.length ? " " : "";
  }
  if (rest !== "") parts.push({ text: rest, gap });
  return parts;
}

/** The last sentences of a text from `start` on that together cost no more than `maxTokens`; not all of the text. */
function lastSentences(text: string, start: number, maxTokens: number): string {
  const prose = text.slice(start);
  let from = prose.length;
  for (const sentence of splitSentences(prose).reverse()) {
    if (countTokens(prose.slice(sentence.start)) > maxTokens) break;
    from = sentence.start;
  }
  return start + from === 0 ? "" : prose.slice(from);
}
