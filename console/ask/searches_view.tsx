import { useEffect, useRef } from "preact/hooks";
import { Empty, Table } from "../parts.tsx";
import type { Source } from "./documents_api.ts";
import { textOf } from "./sources_view.tsx";

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
