import { createSlices } from "../../core/async/yield.ts";
import { countTokens, cutToTokens } from "../../text/token_count.ts";
import { splitSentences } from "../../text/sentences.ts";
import { searchStem } from "../../text/word_stem.ts";
import { isFunctionWord, words } from "../../text/words.ts";
import {
  type CompletionProvider,
  type CompletionRequest,
  type Grounding,
  noUsage,
  type OnUsage,
  type Usage,
} from "../provider.ts";

const notAnswered = "The documents do not answer this.";
const notAModel =
  "The local provider is not a language model and can only quote documents; for free answers, configure a " +
  "provider of kind openai, anthropic, gemini or ollama.";

const mostSentences = 4;
const longestSentence = 120;
/** The least part of the question's weight that a sentence and its surroundings must hold to count as an answer. */
const leastFit = 0.3;
/** The least fit of a further sentence, as a part of the best one's. */
const leastShare = 0.55;
const sameWords = 0.7;
const manyStems = 25;
const mostRanked = 50;

/**
 * How much a word of the question counts that stands not in the sentence but in its document's heading, in the sentence
 * before it, or elsewhere in its document.
 */
const titleShare = 0.65;
const neighbourShare = 0.5;
const documentShare = 0.2;
/** How much more a word of the sentence counts that its document's heading has too. */
const titleBonus = 0.15;
/** Verbs that a question is put with: "what does parental leave look like", "who do I call". */
const idleVerbs: ReadonlySet<string> = new Set(
  ("look looks looking call calls get gets got getting do doing go goes happen happens need needs want wants know find " +
    "tell mean means give gives make makes come comes say says try like").split(" "),
);

/**
 * Completion without a model, for demonstrations and tests: it quotes the sentences of `grounding` that fit the question
 * best, or says that none does. Without `grounding` it says what it is. It reads no instructions, neither in messages nor
 * in documents. The usage is `countTokens`'s estimate.
 */
export function localCompletion(onUsage?: OnUsage): CompletionProvider {
  async function answered(request: CompletionRequest): Promise<{ text: string; usage: Usage }> {
    const { grounding, signal } = request;
    signal.throwIfAborted();
    const text = grounding === undefined ? notAModel : await extractAnswer(grounding, signal) ?? notAnswered;
    const usage = usageOf(request, text);
    onUsage?.(usage);
    request.onUsage?.(usage);
    return { text, usage };
  }

  return {
    name: "local/extractive",
    ping: (signal) => Promise.resolve(signal).then((given) => given.throwIfAborted()),
    async complete(request) {
      const { text, usage } = await answered(request);
      return { text, usage, isCut: false };
    },
    async *stream(request) {
      const { text, usage } = await answered(request);
      for (const [piece] of text.matchAll(/\S+\s*/g)) {
        request.signal.throwIfAborted();
        yield { type: "text", text: piece };
      }
      request.signal.throwIfAborted();
      yield { type: "end", usage, isCut: false };
    },
  };
}

/** Grounding is part of the messages already. */
function usageOf({ system = "", messages }: CompletionRequest, text: string): Usage {
  const promptTokens = messages.reduce((sum, { content }) => sum + countTokens(content), countTokens(system));
  return { ...noUsage, promptTokens, completionTokens: countTokens(text) };
}

interface Candidate {
  /** From 0, in the order of all documents' sentences. */
  readonly order: number;
  readonly document: number;
  readonly text: string;
  /** Whether it tells something, as no heading and no question does. */
  readonly isStatement: boolean;
  readonly stems: ReadonlySet<string>;
  /** The question's stems in the heading that the document begins with. */
  readonly title: ReadonlySet<string>;
  /** The question's stems in the sentence before and in the heading or question above. */
  readonly near: ReadonlySet<string>;
  /** The question's stems anywhere in the document. */
  readonly around: ReadonlySet<string>;
}

interface Question {
  readonly stems: readonly string[];
  readonly rarity: ReadonlyMap<string, number>;
  readonly total: number;
  readonly asksNumber: boolean;
}

/**
 * Two to four sentences of the documents that fit the question best (one, where no other does), each followed by its
 * document's number in square brackets; undefined where none fits. What the sentences say is never acted on.
 */
async function extractAnswer(
  { question, documents }: Grounding,
  signal: AbortSignal,
): Promise<string | undefined> {
  const nextSlice = createSlices(signal);
  const stems = askedStems(question);
  const candidates: Candidate[] = [];
  for (const [index, document] of documents.entries()) {
    await nextSlice();
    addCandidates(withoutNumbers(document), index, new Set(stems), candidates);
  }
  const rarity = rarities(stems, candidates.map((candidate) => candidate.stems));
  const total = stems.reduce((sum, stem) => sum + (rarity.get(stem) ?? 0), 0);
  const asksNumber =
    /\b(?:how (?:many|much|long|old|often|far|big|large|high)|when|what (?:year|date|percentage))\b/i
      .test(question);
  const chosen = choose(candidates, { stems, rarity, total, asksNumber });
  if (chosen.length === 0) return undefined;
  return inReadingOrder(chosen).map(({ text, document }) => `${quotable(text)} [${document + 1}]`).join(" ");
}

/** The question's stems without those of the verbs that it is put with, where others are left. */
function askedStems(question: string): string[] {
  const topics = words(question).filter((word) => !idleVerbs.has(word)).join(" ");
  return topicStems(topics).length > 0 ? questionStems(topics) : questionStems(question);
}

/** The stems of a text's words in order, without those that carry no topic. */
function topicStems(text: string): string[] {
  return words(text).filter((word) => !isFunctionWord(word)).map(searchStem);
}

/** A question's distinct stems; all its words where none carries a topic. */
function questionStems(question: string): string[] {
  const stems = topicStems(question);
  return [...new Set(stems.length > 0 ? stems : words(question).map(searchStem))];
}

/**
 * How rare each of some stems is among texts, from 0 upwards: the inverse document frequency of Okapi BM25 (Robertson
 * and Zaragoza, The Probabilistic Relevance Framework, 2009), with one added so that it is never negative.
 */
function rarities(stems: readonly string[], texts: readonly ReadonlySet<string>[]): Map<string, number> {
  return new Map(stems.map((stem) => {
    const holders = texts.reduce((sum, text) => sum + (text.has(stem) ? 1 : 0), 0);
    return [stem, Math.log(1 + (texts.length - holders + 0.5) / (holders + 0.5))];
  }));
}

/** Numbers in brackets would pass for ours. */
function withoutNumbers(document: string): string {
  return document.replace(/\[[\d\s,]*\]/g, " ");
}

function addCandidates(
  document: string,
  index: number,
  asked: ReadonlySet<string>,
  candidates: Candidate[],
): void {
  const stemsOf = (text: string): ReadonlySet<string> => new Set(topicStems(text));
  const parts = writeOutTables(splitSentences(document).map(({ text }) => text)).map((part) => {
    const stems = stemsOf(part.text);
    return { ...part, stems, own: stems.intersection(asked) };
  });
  const around = new Set(parts.flatMap(({ own }) => [...own]));
  const title = parts[0] !== undefined && isHeading(parts[0].text) ? parts[0].own : new Set<string>();
  // of a table, only the rows that hold a word of the question, if any does
  const asksRow = parts.some(({ isRow, own }) => isRow && own.size > 0);
  let heading: ReadonlySet<string> = new Set();
  let before = heading;
  for (const { text, stems, own, header, isRow } of parts) {
    const near = (isRow ? stemsOf(header).intersection(asked) : before).union(heading);
    const told = isRow ? !asksRow || own.size > 0 : isStatement(text);
    const order = candidates.length;
    candidates.push({ order, document: index, text, isStatement: told, stems, title, near, around });
    if (!told && !text.startsWith("|") && !isRow) heading = own;
    before = own;
  }
}

const isHeading = (text: string): boolean => /^#{1,6}\s/.test(text);

/** A heading or a question in a document says what the next sentences are about, and answers nothing. */
function isStatement(text: string): boolean {
  if (/[?？]["'”’»)]*$/.test(text) || isHeading(text) || /^\||^[\s|:=*_-]*$/.test(text)) return false;
  return /[.!。！…:;|"”»)\d]$/.test(text) || /\d/.test(text) || text.length > 40;
}

/** The part of the question's weight that a candidate covers, about 0 to 1; `covered` stems count half. */
function fit(candidate: Candidate, question: Question, covered: ReadonlySet<string>): number {
  let own = 0;
  let inherited = 0;
  for (const stem of question.stems) {
    const weight = (question.rarity.get(stem) ?? 0) * (covered.has(stem) ? 0.5 : 1);
    if (candidate.stems.has(stem)) own += weight * (candidate.title.has(stem) ? 1 + titleBonus : 1);
    else if (candidate.title.has(stem)) inherited += weight * titleShare;
    else if (candidate.near.has(stem)) inherited += weight * neighbourShare;
    else if (candidate.around.has(stem)) inherited += weight * documentShare;
  }
  if (own + inherited === 0) return 0;
  const isLong = candidate.stems.size > manyStems;
  const hasNumber = question.asksNumber && /\p{N}/u.test(candidate.text);
  return (own + inherited) / question.total * (isLong ? 0.85 : 1) * (hasNumber ? 1.15 : 1);
}

function choose(all: readonly Candidate[], question: Question): Candidate[] {
  const nothing = new Set<string>();
  const ranked = all
    .filter(({ isStatement }) => isStatement)
    .map((candidate) => ({ candidate, fit: fit(candidate, question, nothing) }))
    .filter((scored) => scored.fit >= leastFit)
    .sort((one, other) => other.fit - one.fit || one.candidate.order - other.candidate.order)
    .slice(0, mostRanked);
  const best = ranked[0];
  if (best === undefined) return [];
  const chosen = [best.candidate];
  const covered = new Set(best.candidate.stems);
  for (const { candidate } of ranked.filter((scored) => scored.fit >= best.fit * leastShare).slice(1)) {
    if (chosen.length === mostSentences) break;
    if (chosen.some((other) => areAlike(candidate.stems, other.stems))) continue;
    if (fit(candidate, question, covered) < best.fit * leastShare * 0.5) continue;
    chosen.push(candidate);
    for (const stem of candidate.stems) covered.add(stem);
  }
  return chosen;
}

/** Most of the shorter one's words are in the other. */
function areAlike(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.intersection(other).size >= sameWords * Math.max(1, Math.min(one.size, other.size));
}

/** The document of the best sentence first, and each document's sentences as they follow each other there. */
function inReadingOrder(chosen: readonly Candidate[]): Candidate[] {
  const documents = [...new Set(chosen.map(({ document }) => document))];
  return chosen.toSorted((one, other) =>
    documents.indexOf(one.document) - documents.indexOf(other.document) || one.order - other.order
  );
}

/** On one line and of bounded length. */
function quotable(sentence: string): string {
  const unmarked = sentence.replace(/^(?:[-*+•–>]|\d{1,3}[.)])\s+/, "");
  const text = unmarked.replace(/\s+/g, " ").replace(/ ([.,;])/g, "$1");
  const cut = cutToTokens(text, longestSentence);
  return cut === text ? text : `${cut} …`;
}

/** A part of a Markdown document as it can be quoted. */
interface QuotablePart {
  readonly text: string;
  /** The names of a table row's columns; empty for what is no row. */
  readonly header: string;
  /** Whether it is a row of a table, its head and rules left out. */
  readonly isRow: boolean;
}

const isRow = (text: string): boolean => text.startsWith("|") && text.length > 1;
const isRule = (text: string | undefined): boolean =>
  text !== undefined && /^\|[\s|:-]*-[\s|:-]*$/.test(text);

function cellsOf(row: string): string[] {
  const inner = row.replace(/^\|/, "").replace(/(?<!\\)\|\s*$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** "medium: fee 6.90 euros, up to 10 kg": what a row is of, and what its columns say; a number before its column's name. */
function rowText([first = "", ...rest]: readonly string[], [, ...names]: readonly string[]): string {
  const said = rest.map((cell, index) => {
    const name = names[index] ?? "";
    if (cell === "" || name === "") return cell;
    if (/^[\d.,]+$/.test(cell)) return `${cell} ${cell === "1" ? name.replace(/s$/, "") : name}`;
    return rest.length > 1 ? `${name} ${cell}` : cell;
  }).filter((cell) => cell !== "").join(", ");
  return first === "" || said === "" ? first + said : `${first}: ${said}`;
}

/** A document's sentences with the rows of its tables written out; heads and rules of tables stay as they are. */
function writeOutTables(sentences: readonly string[]): QuotablePart[] {
  let names: readonly string[] = [];
  return sentences.map((text, at) => {
    if (!isRow(text)) names = [];
    const isHead = isRow(text) && isRule(sentences[at + 1]);
    if (isHead) names = cellsOf(text);
    if (!isRow(text) || isHead || isRule(text)) return { text, header: "", isRow: false };
    const written = rowText(cellsOf(text), names);
    return { text: written, header: names.join(" "), isRow: written !== "" };
  });
}
