import type { CallTool } from "./host_link.ts";
import { type Child, element, type PageElement } from "./page_dom.ts";
import { sharedWords, type Span } from "./shared_words.ts";
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
  /** Shows the text. Optional: none where there is no way to it. */
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
