import { AppError } from "../../core/app_error.ts";
import { type Judgements, mean, ndcgAt, percentile, recallAt, reciprocalRank } from "./metrics.ts";
import { type PairedDifference, pairedDifference } from "./paired_difference.ts";
import type { EvaluationQuery } from "./parse_queries.ts";
import type { Qrels } from "./parse_qrels.ts";
import { weighArms, type WeighedArms } from "./weigh_arms.ts";

export type ArmName = "vector" | "keyword" | "hybrid";

/** One way to find documents. */
export interface RetrievalArm {
  readonly name: ArmName;
  /** Ids of documents, the best first. */
  retrieve(question: string, limit: number, signal: AbortSignal): Promise<readonly string[]>;
}

export interface EvaluateOptions {
  readonly arms: readonly RetrievalArm[];
  /** The configured weight of the vector arm, from 0 to 1. */
  readonly vectorWeight: number;
  readonly queries: readonly EvaluationQuery[];
  readonly qrels: Qrels;
  /** Gets the questions that are done, and all that take part. */
  readonly onProgress?: (done: number, total: number) => void;
  readonly signal: AbortSignal;
}

/** Means over all questions. */
export interface ArmEvaluation {
  readonly arm: ArmName;
  readonly ndcgAt10: number;
  readonly recallAt10: number;
  readonly recallAt100: number;
  /** Of the first relevant document among the first ten. */
  readonly mrr: number;
  /** Of a search for ten documents in a warm cache, one at a time, without the embedding of the question. */
  readonly latencyMs: { readonly p50: number; readonly p95: number; readonly p99: number };
}

export interface Evaluation {
  /** Questions that took part: those with a relevant document. */
  readonly queries: number;
  /** Questions without one. */
  readonly unjudgedQueries: number;
  readonly arms: readonly ArmEvaluation[];
  /** What the fusion is worth over the better of the other arms, in nDCG@10. */
  readonly difference?: PairedDifference & { readonly arm: "hybrid"; readonly against: ArmName };
  /** What other weights of the vector arm would give; where there are both arms. */
  readonly weighed?: WeighedArms;
}

interface Sample {
  readonly hundred: readonly string[];
  readonly ndcgAt10: number;
  readonly recallAt10: number;
  readonly recallAt100: number;
  readonly reciprocalRank: number;
  readonly ms: number;
}

/**
 * Asks every arm every question that has a judged answer, one after another, and compares what comes back with the
 * judgements.
 *
 * @throws {AppError} `invalid` where no question has a relevant document; what an arm throws; the signal's reason
 */
export async function evaluate(options: EvaluateOptions): Promise<Evaluation> {
  const { arms, queries, signal, onProgress } = options;
  const judged = queries.flatMap(({ id, text }) => {
    const judgements = options.qrels.get(id);
    return judgements === undefined || !hasRelevant(judgements) ? [] : [{ text, judgements }];
  });
  if (judged.length === 0) {
    throw new AppError(
      "invalid",
      "Cannot evaluate: no question has a relevant document; the two files must call the questions by the same ids",
    );
  }
  const samples = arms.map((): Sample[] => []);
  for (const [index, { text, judgements }] of judged.entries()) {
    for (const [at, arm] of arms.entries()) {
      signal.throwIfAborted();
      samples[at]?.push(await measure(arm, text, judgements, signal));
    }
    onProgress?.(index + 1, judged.length);
  }
  const evaluated = arms.map(({ name }, at) => summarize(name, samples[at] ?? []));
  const difference = await fusionDifference(evaluated, samples);
  const listsOf = (name: ArmName) => samples[arms.findIndex((arm) => arm.name === name)];
  const [nearest, matching] = [listsOf("vector"), listsOf("keyword")];
  const lists = nearest && matching && judged.map(({ judgements }, at) => ({
    nearest: nearest[at]?.hundred ?? [],
    matching: matching[at]?.hundred ?? [],
    judgements,
  }));
  const weighed = lists && await weighArms(lists, options.vectorWeight);
  return {
    queries: judged.length,
    unjudgedQueries: queries.length - judged.length,
    arms: evaluated,
    ...(difference !== undefined && { difference }),
    ...(weighed !== undefined && { weighed }),
  };
}

async function measure(
  arm: RetrievalArm,
  question: string,
  judgements: Judgements,
  signal: AbortSignal,
): Promise<Sample> {
  // the longer list first: what it brings into the caches is there for every arm's short one
  const hundred = unique(await arm.retrieve(question, 100, signal));
  const startedAt = performance.now();
  const ten = await arm.retrieve(question, 10, signal);
  const ms = performance.now() - startedAt;
  const best = unique(ten).slice(0, 10);
  return {
    hundred,
    ndcgAt10: ndcgAt(10, best, judgements),
    recallAt10: recallAt(10, best, judgements),
    recallAt100: recallAt(100, hundred, judgements),
    reciprocalRank: reciprocalRank(best, judgements),
    ms,
  };
}

function summarize(arm: ArmName, samples: readonly Sample[]): ArmEvaluation {
  const meanOf = (part: Exclude<keyof Sample, "hundred">) => mean(samples.map((sample) => sample[part]));
  const ms = samples.map((sample) => sample.ms);
  return {
    arm,
    ndcgAt10: meanOf("ndcgAt10"),
    recallAt10: meanOf("recallAt10"),
    recallAt100: meanOf("recallAt100"),
    mrr: meanOf("reciprocalRank"),
    latencyMs: { p50: percentile(50, ms), p95: percentile(95, ms), p99: percentile(99, ms) },
  };
}

async function fusionDifference(
  arms: readonly ArmEvaluation[],
  samples: readonly (readonly Sample[])[],
): Promise<Evaluation["difference"]> {
  const fusion = samples[arms.findIndex(({ arm }) => arm === "hybrid")];
  const [better] = arms.filter(({ arm }) => arm !== "hybrid").sort((a, b) => b.ndcgAt10 - a.ndcgAt10);
  if (fusion === undefined || better === undefined) return undefined;
  const single = samples[arms.indexOf(better)] ?? [];
  const differences = fusion.map(({ ndcgAt10 }, at) => ndcgAt10 - (single[at]?.ndcgAt10 ?? 0));
  return { arm: "hybrid", against: better.arm, ...await pairedDifference(differences) };
}

function hasRelevant(judgements: Judgements): boolean {
  return [...judgements.values()].some((gain) => gain > 0);
}

function unique(ids: readonly string[]): string[] {
  return [...new Set(ids)];
}
