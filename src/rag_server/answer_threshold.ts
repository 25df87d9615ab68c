import { untilAborted } from "../core/async/abort.ts";
import { withDeadline } from "../core/async/deadline.ts";
import { createSingleFlight } from "../core/async/single_flight.ts";
import type { Logger } from "../core/logger.ts";
import type { EmbeddingProvider } from "../llm/provider.ts";
import { topicsOf } from "../text/words.ts";
import type { RetrievedDocument } from "./search/fusion.ts";
import type { Retriever } from "./search/retriever.ts";

export type AnswerThreshold = ReturnType<typeof createAnswerThreshold>;

interface FoundForQuestion {
  /** As it was searched. */
  readonly question: string;
  readonly documents: readonly RetrievedDocument[];
  /** Whether earlier messages may hold the answer. */
  readonly hasHistory: boolean;
  readonly retriever: Retriever;
  readonly signal: AbortSignal;
}

/** Questions that hardly any documents answer, of many subjects, so that a few that are answered do no harm; and no words at all. */
const foreignQuestions = (
  "What is the capital of France?|How do I bake sourdough bread?|Who won the football world cup?|" +
  "What time does the train to Berlin leave?|How much does a new bicycle cost?|Which songs are on the album?|" +
  "How do I reset my password?|What is the weather like tomorrow?|Can I return shoes that I bought last week?|" +
  "Who painted the ceiling of the chapel?|How tall is the tallest mountain?|What should I feed my cat?|" +
  "How do I file my tax return?|Which wine goes with fish?|When was the castle built?|How do I change a flat tyre?|" +
  "xyzzyqqq|blorft grindle snape"
).split("|");

/**
 * How far above the median of those, in standard deviations as the median of the deviations tells them. With all-MiniLM-L6-v2
 * and five judged collections, 475 of 476 questions are let through to the documents that answer them, and half of the
 * questions of the other collections are not: 74 % over medicine, 14 % where the collections are about the same.
 */
const deviations = 2;
const toStandard = 1.4826;
/**
 * A document with such a share of a question's words may answer it, whatever the vectors say. Those of letters say little:
 * with a quarter, none of 383 questions is kept from its documents, and 35 of 36 made-up words are.
 */
const enoughWords = { meaning: 0.5, letters: 0.25 };

const maxAgeMs = 60 * 60_000;
const retryMs = 60_000;
const learnMs = 5_000;

/**
 * Whether what was found for a question is near enough to ask a model.
 *
 * @param least similarity of the nearest document, from 0 to 1; 0: all is near enough; "learned": as near as questions come
 * that have nothing to do with the documents, which is looked at when a question first needs it, and again after an hour
 */
export function createAnswerThreshold({ least, embedding, now, logger }: {
  readonly least: number | "learned";
  /** The model that questions are searched with now. */
  readonly embedding: () => EmbeddingProvider;
  /** Milliseconds since any fixed moment. */
  readonly now: () => number;
  readonly logger: Logger;
}) {
  let learned = { value: 0, model: "", until: -Infinity };
  const flight = createSingleFlight<number>();

  async function learn(retriever: Retriever): Promise<number> {
    const { name: model } = embedding();
    try {
      const value = await withDeadline(learnMs, undefined, async (signal) => {
        const embedded = new Map<EmbeddingProvider, Promise<readonly Float32Array[]>>();
        const embedAll = async (model: EmbeddingProvider) =>
          (await model.embed({ texts: foreignQuestions, purpose: "query", signal })).vectors;
        const nearest: number[] = [];
        for (const [at, question] of foreignQuestions.entries()) {
          const vectorBy = async (model = embedding()) => {
            const vectors = embedded.get(model) ?? embedAll(model);
            embedded.set(model, vectors);
            return (await vectors)[at] ?? new Float32Array();
          };
          const asked = { question, limit: 1, hybrid: false, minSimilarity: -1 };
          const [found] = await retriever.retrieve({ ...asked, embedding: vectorBy, signal });
          if (found?.similarity !== undefined) nearest.push(found.similarity);
        }
        const middle = median(nearest);
        return middle + deviations * toStandard * median(nearest.map((one) => Math.abs(one - middle)));
      });
      learned = { value, model, until: now() + maxAgeMs };
    } catch (error) {
      logger.warn("Cannot learn how near documents must be to answer: a model is asked", { error });
      learned = { value: 0, model, until: now() + retryMs };
    }
    return learned.value;
  }

  /** @throws the signal's reason */
  return async (
    { question, documents, hasHistory, retriever, signal }: FoundForQuestion,
  ): Promise<boolean> => {
    const similarities = documents.flatMap(({ similarity }) => similarity ?? []);
    if (least === 0 || similarities.length === 0) return true;
    const nearest = Math.max(...similarities);
    if (least !== "learned") return nearest >= least;
    const { name } = embedding();
    const isLearned = name === learned.model && now() < learned.until;
    // to look for words takes longer than all else here
    if (hasHistory || isLearned && nearest >= learned.value) return true;
    const leastShared = enoughWords[name.startsWith("local/hashed") ? "letters" : "meaning"];
    if (hasWords(question, documents, leastShared)) return true;
    if (isLearned) return false;
    return nearest >= await untilAborted(flight.share(() => learn(retriever)), signal);
  };
}

function hasWords(question: string, documents: readonly RetrievedDocument[], share: number): boolean {
  const asked = topicsOf(question);
  return documents.some(({ content }) => asked.intersection(topicsOf(content)).size >= share * asked.size);
}

/** 0 of none. */
function median(values: readonly number[]): number {
  const ordered = values.toSorted((one, other) => one - other);
  const [low = 0, high = low] = ordered.slice((ordered.length - 1) >> 1, (ordered.length >> 1) + 1);
  return (low + high) / 2;
}
