import type { CallTool } from "./host_link.ts";
import { type Child, element, type PageElement } from "./page_dom.ts";
import { shownText, wholeCharacters } from "./shown_text.ts";
import { readDocumentText, readToolResult, type ShownAnswer, type Source } from "./tool_result.ts";

/** Of a source, before it is opened. */
const longestPreview = 140;
const longestSource = 50_000;

/** An answer with its sources, which a person opens: what both say in the same words is marked in both. */
export function answerView({ answer, sources }: ShownAnswer, callTool: CallTool | undefined): PageElement {
  const spans: Span[] = [];
  const words = element("p", { class: "prose", dir: "auto" });
  const items = sources.map((source) => sourceItem(source, answer, callTool, markAnswer));

  function markAnswer(content: string): void {
    spans.push(...sharedWords(content, answer));
    words.replaceChildren(...markedText(answer, merged(spans), (text) => withCitations(text, items)));
  }

  markAnswer("");
  for (const { content } of sources) if (content !== undefined) markAnswer(content);
  return element(
    "div",
    { class: "answer" },
    words,
    ...(sources.length === 0 ? [] : [
      element("h2", {}, `${sources.length} ${sources.length === 1 ? "source" : "sources"}`),
      element("ol", {}, ...items.map(({ item }) => item)),
    ]),
  );
}

interface SourceItem {
  readonly item: PageElement;
  /** Shows the text; absent where there is no way to it. */
  readonly open?: () => void;
}

function sourceItem(
  source: Source,
  answer: string,
  callTool: CallTool | undefined,
  onContent: (content: string) => void,
): SourceItem {
  const { id, title, content, score } = source;
  const heading = [
    element("span", { class: "preview" }, shownText(preview(title ?? content ?? id ?? ""))),
    element("span", { class: "score" }, score === undefined ? "" : `score ${score.toFixed(2)}`),
  ];
  const place = element("div", { class: "content" });
  const show = (content: string) =>
    place.replaceChildren(element(
      "p",
      { class: "prose", dir: "auto" },
      ...markedText(wholeCharacters(content, longestSource), sharedWords(answer, content)),
    ));
  if (content !== undefined) show(content);
  else if (callTool === undefined || id === undefined) {
    return { item: element("li", {}, element("div", { class: "summary" }, ...heading)) };
  }
  const summary = element("summary", {}, ...heading);
  const details = element("details", {}, summary, place);
  let isAsked = content !== undefined;

  async function read(): Promise<void> {
    if (isAsked || callTool === undefined) return;
    isAsked = true;
    place.replaceChildren(element("p", { class: "note", role: "status" }, "Reading it\u2026"));
    try {
      const result = await callTool("fetch", { id });
      const text = readDocumentText(result);
      if (text === undefined) throw new Error(reasonIn(result));
      show(text);
      onContent(text);
    } catch (error) {
      isAsked = false;
      const reason = error instanceof Error ? error.message : "the host refused";
      place.replaceChildren(
        element("p", { class: "fault", role: "alert" }, `Cannot read it: ${wholeCharacters(reason, 500)}`),
      );
    }
  }

  summary.addEventListener("click", ({ isTrusted }) => {
    // one that is open is about to be closed
    if (isTrusted && !details.open) void read();
  });
  return {
    item: element("li", {}, details),
    open() {
      details.open = true;
      summary.focus();
      void read();
    },
  };
}

/** A text in which `[2]` leads to the second source. */
function withCitations(text: string, items: readonly SourceItem[]): Child[] {
  return text.split(/(\[\d{1,3}\])/).map((part) => {
    const number = /^\[(\d+)\]$/.exec(part)?.[1];
    const open = number === undefined ? undefined : items[Number(number) - 1]?.open;
    if (open === undefined) return shownText(part);
    const button = element(
      "button",
      { type: "button", class: "cite", "aria-label": `Source ${number}` },
      part,
    );
    button.addEventListener("click", ({ isTrusted }) => {
      if (isTrusted) open();
    });
    return button;
  });
}

function reasonIn(result: unknown): string {
  const shown = readToolResult(result);
  return shown.kind === "text" && shown.text !== "" ? shown.text : "the answer has no text";
}

function preview(content: string): string {
  const text = content.replace(/\s+/g, " ").trim();
  return text.length > longestPreview ? `${wholeCharacters(text, longestPreview)}\u2026` : text;
}

function markedText(
  text: string,
  spans: readonly Span[],
  shown: (text: string) => Child[] = (text) => [shownText(text)],
): Child[] {
  let from = 0;
  const parts = spans.flatMap((span) => {
    const before = text.slice(from, span.from);
    from = span.to;
    return [...shown(before), element("mark", {}, ...shown(text.slice(span.from, span.to)))];
  });
  return [...parts, ...shown(text.slice(from))];
}

/** Spans that overlap or touch become one. */
export function merged(spans: readonly Span[]): Span[] {
  const found: Span[] = [];
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    const last = found.at(-1);
    if (last !== undefined && span.from <= last.to) {
      found.splice(-1, 1, { from: last.from, to: Math.max(last.to, span.to) });
    } else found.push(span);
  }
  return found;
}

/** Fewer words in a row, or shorter ones, are shared by chance. */
const fewestWords = 3;
const fewestCharacters = 14;
/** Of a text that is compared: more would hold up the page. */
const mostCompared = 50_000;

/** A part of a text, in UTF-16 units. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

interface Word extends Span {
  readonly key: string;
}

/** Where a source says the same as an answer: runs of words that both have, in the source's order. */
export function sharedWords(answer: string, source: string): Span[] {
  const [wordsOfAnswer, wordsOfSource] = [wordsIn(answer), wordsIn(source)];
  const starts = new Map<string, number[]>();
  for (const [at] of wordsOfAnswer.entries()) {
    const key = runKey(wordsOfAnswer, at);
    if (key !== undefined) starts.set(key, [...starts.get(key) ?? [], at].slice(0, 50));
  }
  const found: Span[] = [];
  for (let at = 0; at < wordsOfSource.length;) {
    const key = runKey(wordsOfSource, at);
    const length = Math.max(
      0,
      ...(key === undefined ? [] : starts.get(key) ?? []).map((start) =>
        runLength(wordsOfAnswer, start, wordsOfSource, at)
      ),
    );
    const [first, last] = [wordsOfSource[at], wordsOfSource[at + length - 1]];
    const isLong = first !== undefined && last !== undefined && last.to - first.from >= fewestCharacters;
    if (isLong) found.push({ from: first.from, to: last.to });
    at += isLong ? length : 1;
  }
  return found;
}

function wordsIn(text: string): Word[] {
  return Array.from(
    text.slice(0, mostCompared).matchAll(/[\p{L}\p{M}\p{N}]+(?:[.,]\p{N}+)*/gu),
    ({ 0: word, index }) => ({ key: word.toLowerCase(), from: index, to: index + word.length }),
  );
}

function runKey(words: readonly Word[], at: number): string | undefined {
  return at + fewestWords > words.length
    ? undefined
    : words.slice(at, at + fewestWords).map(({ key }) => key).join(" ");
}

function runLength(a: readonly Word[], atA: number, b: readonly Word[], atB: number): number {
  let length = 0;
  while (a[atA + length] !== undefined && a[atA + length]?.key === b[atB + length]?.key) length++;
  return length;
}
