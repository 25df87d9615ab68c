import { defined } from "../../core/defined.ts";
import { AppError } from "../../core/app_error.ts";
import type { EvaluateOptions, Evaluation, FusionWeights } from "../../rag_server/evaluate/evaluate.ts";
import type { AnswerFigures, Share } from "../../rag_server/evaluate/evaluate_answers.ts";
import { fewestQuestions, type PairedDifference } from "../../rag_server/evaluate/metrics.ts";
import { parseQrels, parseQueries } from "../../rag_server/evaluate/judged_questions.ts";
import { jsonText, type Print, tableLines } from "../output.ts";

interface EvaluateSettings {
  readonly queriesFile: string;
  readonly qrelsFile: string;
  /** Print JSON in place of text for people. */
  readonly json: boolean;
}

/** With what answers came to, where they were asked for. */
type JudgedEvaluation = Evaluation & { readonly answers?: AnswerFigures };

/** What the files hold, for the pipeline that is measured. */
export type EvaluationInput = Pick<EvaluateOptions, "queries" | "qrels">;

/**
 * Measures a pipeline's retrieval with questions whose answers are known, and prints the figures.
 *
 * @throws {AppError} `not_found` or `unavailable` for a file that cannot be read, `invalid`, with its line, for one that
 * holds something else; what `run` throws
 */
export async function evaluateRetrieval(
  settings: EvaluateSettings,
  run: (input: EvaluationInput) => Promise<JudgedEvaluation>,
  print: Print,
): Promise<void> {
  const { queriesFile, qrelsFile, json } = settings;
  const queries = parseQueries(await readText(queriesFile), queriesFile);
  const qrels = parseQrels(await readText(qrelsFile), qrelsFile);
  const evaluation = await run({ queries, qrels });
  const { answers } = evaluation;
  if (json) return print(jsonText({ ...jsonEvaluation(evaluation), ...defined({ answers }) }));
  for (const line of [...evaluationLines(evaluation), ...(answers ? answerLines(answers) : [])]) print(line);
}

async function readText(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) {
      throw new AppError("not_found", `Cannot read ${path}: there is no such file`, { cause });
    }
    throw new AppError("unavailable", `Cannot read ${path}: the file system refused`, { cause });
  }
}

function jsonEvaluation(
  { queries, unjudgedQueries, searches, difference, weighed, missing = [] }: Evaluation,
) {
  return {
    queries,
    unjudged_queries: unjudgedQueries,
    missing_documents: missing,
    searches: searches.map(({ search, ndcgAt10, recallAt10, recallAt100, mrr, latencyMs }) => ({
      search,
      ndcg_at_10: ndcgAt10,
      recall_at_10: recallAt10,
      recall_at_100: recallAt100,
      mrr,
      latency_ms: latencyMs,
    })),
    difference: difference === undefined ? null : {
      search: difference.search,
      against: difference.against,
      ...jsonDifference(difference),
    },
    weights: (weighed?.weights ?? []).map(({ vectorWeight, ndcgAt10 }) => ({
      vector_weight: vectorWeight,
      ndcg_at_10: ndcgAt10,
    })),
    best_weight: weighed === undefined ? null : {
      vector_weight: weighed.best.vectorWeight,
      against: weighed.best.configured,
      ...jsonDifference(weighed.best.difference),
    },
  };
}

function answerLines({ answered, refused, relevant, verified }: AnswerFigures): string[] {
  const of = ({ part, whole }: Share) => `${part} of ${whole}`;
  return [
    "",
    `Answers: ${of(answered)} questions with an answer got one, ${of(refused)} without one got none;`,
    `${of(relevant)} cited documents are judged relevant, ${of(verified)} claims are verified.`,
  ];
}

function jsonDifference({ mean, interval }: PairedDifference) {
  return { ndcg_at_10: mean, interval: interval === undefined ? null : { confidence: 0.95, ...interval } };
}

function evaluationLines(
  { queries, unjudgedQueries, searches, difference, weighed, missing = [] }: Evaluation,
): string[] {
  const rows = searches.map((
    { search, ndcgAt10, recallAt10, recallAt100, mrr, latencyMs: { p50, p95, p99 } },
  ) => [
    search,
    ...[ndcgAt10, recallAt10, recallAt100, mrr].map((share) => share.toFixed(4)),
    ...[p50, p95, p99].map((ms) => ms.toFixed(1)),
  ]);
  const left = unjudgedQueries === 0 ? "" : `; ${unjudgedQueries} without a relevant document were left out`;
  return [
    `${queries} ${queries === 1 ? "question" : "questions"}${left}`,
    "",
    ...tableLines(
      ["search", "nDCG@10", "recall@10", "recall@100", "MRR", "p50 ms", "p95 ms", "p99 ms"],
      rows,
    ),
    "",
    "Times measure one of the server's searches at a time, without embedding the question.",
    ...(difference === undefined ? [] : [differenceLine(difference)]),
    ...(weighed === undefined || weighed.best.ndcgAt10 === 0 ? [] : [bestWeightLine(weighed.best)]),
    ...(queries < fewestQuestions && (difference ?? weighed) !== undefined ? [tooFew] : []),
    ...(missing.length === 0 ? [] : [missingLine(missing)]),
    ...(searches.every(({ recallAt100 }) => recallAt100 === 0)
      ? [
        "No search found a judged document: check that the judgements name documents by the ids in the tables.",
      ]
      : []),
  ];
}

const tooFew =
  `These questions are too few to tell a difference from chance: use at least ${fewestQuestions}.`;

function missingLine(ids: readonly string[]): string {
  const which = ids.slice(0, 3).map((id) => JSON.stringify(id)).join(", ");
  const [are, examples] = [
    ids.length === 1 ? "document is" : "documents are",
    ids.length > 3 ? "such as " : "",
  ];
  return `${ids.length} judged ${are} not in the pipeline's tables: ${examples}${which}.`;
}

function differenceLine({ search, against, mean, interval }: NonNullable<Evaluation["difference"]>): string {
  return `${search} against ${against}: nDCG@10 ${signed(mean)}${
    intervalText(interval, "it is better", "it is worse")
  }.`;
}

function bestWeightLine({ vectorWeight, ndcgAt10, configured, difference }: FusionWeights["best"]): string {
  const line = `For these questions vector_weight ${vectorWeight} is best: nDCG@10 ${ndcgAt10.toFixed(4)}`;
  if (vectorWeight === configured) return `${line}, and the configuration has it already.`;
  // the best of many weights for some questions is a little less good for others
  const meaning = intervalText(
    difference.interval,
    "it is better, but perhaps a little less so for other questions",
    "it is worse",
  );
  return `${line}, ${signed(difference.mean)} against ${configured}${meaning}.`;
}

function intervalText(interval: PairedDifference["interval"], better: string, worse: string): string {
  if (interval === undefined) return "";
  const { low, high } = interval;
  const meaning = low > 0 ? better : high < 0 ? worse : "that may be chance";
  return ` (95 % interval ${signed(low)} to ${signed(high)}): ${meaning}`;
}

function signed(value: number): string {
  return `${value < 0 ? "" : "+"}${value.toFixed(4)}`;
}
