import { useEffect, useRef, useState } from "preact/hooks";
import { Button, Empty, Shown, Table, Text } from "../parts.tsx";
import { citedWords, webAddress } from "./answer_pieces.ts";
import type { Source } from "./documents_api.ts";

/** A text that is longer is folded. */
const foldedFrom = 420;

/** A passage with what its table says of it; the words of `claims`, the sentences that cite it, are marked. */
export function SourceCard({ source, number, id, claims }: {
  readonly source: Source;
  readonly number: number;
  readonly id: string;
  /** Optional: none where there is no answer. */
  readonly claims: readonly string[] | undefined;
}) {
  const [isOpen, setOpen] = useState(false);
  const { title, heading, page, url, characters: _, ...rest } = source.metadata;
  const text = passageText(source);
  const isLong = text.length > foldedFrom;
  const facts = { ...rest, id: source.id, score: source.score.toFixed(2) };
  const href = webAddress(url);
  return (
    <li
      class="card source"
      id={id}
      tabIndex={-1}
      onFocus={(event) => event.target === event.currentTarget && setOpen(true)}
    >
      <div class="row">
        <h4>
          <span class="number">{number}</span> <Shown text={textOf(title ?? rest.source ?? source.id)} />
        </h4>
        {page !== undefined && <span class="badge">page {textOf(page)}</span>}
        {claims?.length === 0 && <span class="badge">not cited</span>}
      </div>
      {heading !== undefined && <Text as="p" class="faint" text={textOf(heading)} />}
      {href
        ? <a href={href} target="_blank" rel="noreferrer">{href}</a>
        : url !== undefined && <Text as="p" text={textOf(url)} />}
      <p class={isLong && !isOpen ? "passage folded" : "passage"} dir="auto">
        {citedWords(claims ?? [], text).map(({ text, isCited }, at) => (
          <Text key={at} as={isCited ? "mark" : "span"} text={text} />
        ))}
      </p>
      <p class="faint facts">
        {Object.entries(facts).filter(([, value]) => value !== undefined)
          .map(([key, value]) => <Shown key={key} text={`${key} ${textOf(value)}  `} />)}
      </p>
      {isLong && (
        <Button class="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Show less" : "Show all"}
        </Button>
      )}
    </li>
  );
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}

/** What a passage says, without the line of headings that stands above it. Lines that were broken by their length are one. */
function passageText({ content, metadata }: Source): string {
  const heading = /^\s*#{1,6} (.*)\n+/.exec(content);
  const isKnown = heading?.[1] === metadata["heading"];
  const text = heading && isKnown ? content.slice(heading[0].length) : content;
  return text.replace(/(?<=[^\n]{60})\n(?=[\p{L}\p{N}])/gu, " ");
}

/** The order of passages, and where each search had them. */
export function SearchesTable({ passages = [] }: { readonly passages: readonly Source[] | undefined }) {
  const section = useRef<HTMLElement>(null);
  // it opens below the sources
  useEffect(() => section.current?.scrollIntoView({ block: "nearest" }), []);
  if (passages.length === 0) return <Empty title="No passage was found." />;
  const mostWords = Math.max(...passages.map((each) => each.keyword?.score ?? 0));
  const mostScore = Math.max(1, ...passages.map(({ score }) => score));
  const rows = passages.map(({ vector, keyword, score, metadata: { heading, title }, id, content }, at) => ({
    Passage: `${at + 1}. ${textOf(heading ?? title ?? id ?? content).slice(0, 100)}`,
    "By meaning": vector ? <Bar rank={vector.rank} value={vector.similarity} most={1} /> : "not found",
    "By words": keyword ? <Bar rank={keyword.rank} value={keyword.score} most={mostWords} /> : "not found",
    Together: <Bar value={score} most={mostScore} />,
  }));
  return (
    <section class="stack searches" ref={section}>
      <h3>Searches side by side</h3>
      <p class="faint">{explanation(passages)}</p>
      <Table label="Searches side by side" rows={rows} />
    </section>
  );
}

function explanation(passages: readonly Source[]): string {
  if (passages.every(({ keyword }) => keyword === undefined)) {
    return "Only the search by meaning found these: words are not searched here, or no passage has the question's.";
  }
  return passages.every(({ vector }) => vector === undefined)
    ? "Only the search by words found these: this pipeline does not search by meaning."
    : "Each search has its rank and its score: the similarity, and how well the words fit. Together, scores count by how far they lie above their list's average, and with those of the passages near; 0.5 is average. A reranker, where there is one, orders last.";
}

/** A rank and a score; `most` fills the bar. */
function Bar({ rank, value = 0, most }: {
  readonly rank?: number;
  readonly value?: number | undefined;
  readonly most: number;
}) {
  const share = Math.max(0, Math.min(1, value / most)) || 0;
  return (
    <span class="standing">
      {rank !== undefined && <b>#{rank}</b>}
      <span class="bar">
        <span style={{ width: `${share * 100}%` }} />
      </span>
      {value.toFixed(2)}
    </span>
  );
}
