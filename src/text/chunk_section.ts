import { cutToTokens } from "./cut_to_budget.ts";
import { splitSentences } from "./sentences.ts";
import type { DocumentBlock } from "./source_document.ts";
import { countTokens, endOfTokens } from "./token_count.ts";

export interface ChunkOptions {
  /** Of a whole chunk with its line of headings, as `countTokens` counts. */
  readonly maxTokens: number;
  /** How much of a chunk's end the next chunk of the same section repeats, in whole sentences; 0 for none. */
  readonly overlapTokens: number;
}

export interface SectionChunk {
  readonly heading: string;
  readonly body: string;
}

/** What is never cut any more. */
interface Part {
  readonly text: string;
  /** What stands between it and the part before, where both are in one chunk. */
  readonly gap: string;
  /** A table's header, for a chunk that begins with a later row of it. */
  readonly header?: string;
}

const betweenBlocks = "\n\n";

/** Cuts one section, whose chunks all get the same heading. Blocks stay whole where they fit into a chunk. */
export function chunkSection(
  heading: string,
  blocks: readonly DocumentBlock[],
  { maxTokens, overlapTokens }: ChunkOptions,
): SectionChunk[] {
  const lead = heading === "" ? "" : heading + betweenBlocks;
  const fits = (body: string) => countTokens(lead + body) <= maxTokens;
  // what a text costs depends on its surroundings by a token or two
  const room = maxTokens - countTokens(lead) - 2;
  const chunks: SectionChunk[] = [];
  let body = "";
  let isOverlapOnly = true;
  /** Where in `body` the sentences begin that the next chunk may repeat: behind the last table or code. */
  let proseStart = 0;

  function append({ text, gap, header }: Part, isProse: boolean): boolean {
    const start = header === undefined ? text : `${header}\n${text}`;
    const next = body === "" ? start : body + gap + text;
    if (!fits(next)) return false;
    body = next;
    isOverlapOnly = false;
    if (!isProse) proseStart = body.length;
    return true;
  }

  function flush(): void {
    if (!isOverlapOnly) chunks.push({ heading, body });
    isOverlapOnly = true;
    body = "";
    proseStart = 0;
  }

  /** Begins a new chunk, with the last one's end where that leaves room. */
  function appendToNew(part: Part, isProse: boolean): void {
    const overlap = isOverlapOnly || part.header !== undefined
      ? ""
      : lastSentences(body, proseStart, overlapTokens);
    flush();
    body = overlap;
    if (append(part, isProse)) return;
    body = "";
    if (append(part, isProse)) return;
    // what stands before a text can make it dearer than it is alone
    for (const piece of cutLong(part.text, Math.floor(room / 2), part.gap)) {
      if (append(piece, isProse)) continue;
      flush();
      append(piece, isProse);
    }
  }

  for (const { kind, text } of blocks) {
    const isProse = kind !== "code" && kind !== "table";
    const whole = { text: trimLines(text), gap: betweenBlocks };
    if (whole.text === "" || append(whole, isProse)) continue;
    const parts = fits(whole.text) ? [whole] : partsOf(kind, whole.text, room);
    for (const part of parts) if (!append(part, isProse)) appendToNew(part, isProse);
  }
  flush();
  return chunks;
}

/** Without empty lines around; the first line's indentation stays. */
function trimLines(text: string): string {
  return text.replace(/^(?:[^\S\n]*\n)+/, "").trimEnd();
}

/** A block's sentences, or its lines, each within `room` tokens. */
function partsOf(kind: DocumentBlock["kind"], text: string, room: number): Part[] {
  if (kind === "table") return rowsOf(text, room);
  if (kind === "code") return partsOfLines(text.split("\n"), room, betweenBlocks);
  const sentences = splitSentences(text);
  return sentences.flatMap(({ text: sentence, start }, at) => {
    const before = sentences[at - 1]?.end;
    return cutLong(sentence, room, before === undefined ? betweenBlocks : text.slice(before, start));
  });
}

function rowsOf(text: string, room: number): Part[] {
  const lines = text.split("\n");
  const header = /^\|[\s:|-]+\|$/.test(lines[1] ?? "") ? lines.slice(0, 2).join("\n") : undefined;
  const headerTokens = header === undefined ? 0 : countTokens(header) + 2;
  if (header === undefined || headerTokens * 2 > room) return partsOfLines(lines, room, betweenBlocks);
  const [first, ...rows] = partsOfLines(lines.slice(2), room - headerTokens, "\n");
  if (first === undefined) return [{ text: header, gap: betweenBlocks }];
  // the header goes with the first row wherever that goes
  return [
    { text: `${header}\n${first.text}`, gap: betweenBlocks },
    ...rows.map((row) => ({ ...row, header })),
  ];
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

/** No run of letters or blanks gives more of them to a token: what is longer need not be counted to be too long. */
const mostLettersPerToken = 50;

function cutLong(text: string, room: number, firstGap: string): Part[] {
  const parts: Part[] = [];
  const window = (room + 1) * mostLettersPerToken;
  let rest = text;
  let gap = firstGap;
  for (
    let start = rest.slice(0, window);
    endOfTokens(start, room) < start.length;
    start = rest.slice(0, window)
  ) {
    const piece = cutToTokens(start, room) || start.slice(0, Math.max(1, endOfTokens(start, room)));
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
