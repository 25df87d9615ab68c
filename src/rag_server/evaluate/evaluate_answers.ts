import { findCitations } from "../citations.ts";
import type { Pipeline } from "../pipeline.ts";
import type { EvaluateOptions } from "./evaluate.ts";
import type { SearchCaller } from "../filter/check_filter.ts";

/** How many of how many. */
export interface Share {
  part: number;
  whole: number;
}

export type AnswerFigures = Awaited<ReturnType<typeof evaluateAnswers>>;

/**
 * Has a pipeline answer each question, one after the other, and judges the answers. One that cites nothing it was shown
 * counts as none. Questions that are neither judged nor marked as having no answer are left out.
 *
 * @throws as `Pipeline.answer`
 */
export async function evaluateAnswers(
  { pipeline, queries, qrels, onProgress, ...asking }:
    & { readonly pipeline: Pick<Pipeline, "answer"> }
    & Pick<EvaluateOptions, "queries" | "qrels" | "onProgress">
    & SearchCaller,
) {
  const share = (): Share => ({ part: 0, whole: 0 });
  const figures = {
    /** Of the questions that the documents answer, those that got an answer. */
    answered: share(),
    /** Of the questions that they do not answer, those that got none. */
    refused: share(),
    /** Of the documents that answers to judged questions cite, those that are judged relevant. */
    relevant: share(),
    /** Of the sentences that claim something in answers, those that their sources bear out. */
    verified: share(),
  };
  const count = (name: keyof typeof figures, hits: readonly boolean[]) => {
    figures[name].part += hits.filter(Boolean).length;
    figures[name].whole += hits.length;
  };
  const asked = queries.filter(({ id, hasNoAnswer }) => hasNoAnswer || qrels.has(id));
  for (const [at, { id, text, hasNoAnswer }] of asked.entries()) {
    const query = { ...asking, query: text, disableHybrid: false, messages: [] };
    const { answer, sources } = await pipeline.answer(query);
    const citations = await findCitations(answer, sources);
    const cited = new Set(citations.flatMap((citation) => citation.sources));
    if (cited.size > 0) count("verified", citations.map(({ verified }) => verified));
    if (hasNoAnswer) count("refused", [cited.size === 0]);
    else {
      count("answered", [cited.size > 0]);
      const gains = Array.from(cited, (number) => qrels.get(id)?.get(sources[number - 1]?.id ?? "") ?? 0);
      count("relevant", gains.map((gain) => gain > 0));
    }
    onProgress?.(at + 1, asked.length);
  }
  return figures;
}
