import { createGate, type Gate, noWaitBounds, type WaitBounds } from "../core/admission.ts";
import { longestTimerMs, withDeadline } from "../core/async/deadline.ts";
import { createSingleFlight } from "../core/async/single_flight.ts";
import type { Logger } from "../core/logger.ts";
import { createHistogram, type Histogram, timed } from "../core/metrics/metric_family.ts";
import { callerKey, readerFor } from "../core/principal.ts";
import type { Quotas } from "../core/quotas/quotas.ts";
import { spanned } from "../core/tracing.ts";
import type { PipelineHealth } from "./api/rag_replies.ts";
import type { Pipeline, PipelineEvent } from "./pipeline.ts";
import type { PipelineQuery } from "./query.ts";
import { tokensOf } from "../llm/usage.ts";

/** The pipelines of one configuration, in its order, with what they hold open. */
export interface PipelineSet extends AsyncDisposable {
  readonly list: readonly Pipeline[];
}

interface RunningPipelinesOptions {
  /** A set that was replaced ends after so long whatever it still does. */
  readonly longestQueryMs: number;
  /** How many queries a pipeline answers at once; without bound where absent. */
  readonly maxQueries?: number;
  /** Of the queries that wait for that. */
  readonly waitBounds?: WaitBounds;
  /** How long they wait. */
  readonly waits?: Histogram;
  /** Counts what providers use for callers. Optional: without it, nothing does. */
  readonly quotas?: ProviderQuotas | undefined;
  readonly logger: Logger;
}

type ProviderQuotas = Pick<Quotas, "isOn" | "beforeProvider" | "usedTokens">;

const longestCheckMs = 30_000;

/** The log says of a pipeline once in this time that queries are refused: callers decide how many are. */
const refusedToldMs = 60_000;

export type RunningPipelines = ReturnType<typeof createRunningPipelines>;

/**
 * The pipelines that answer now. A reload replaces them. Running queries finish on the pipelines that they began with.
 */
export function createRunningPipelines(
  first: PipelineSet,
  options: RunningPipelinesOptions,
) {
  const { longestQueryMs, maxQueries = Infinity, waitBounds = noWaitBounds, logger } = options;
  const { waits = createHistogram(), quotas } = options;
  let current = run(first);
  const retiring = new Map<PipelineSet, ReturnType<typeof setTimeout>>();

  function run(set: PipelineSet) {
    for (const pipeline of set.list) {
      withDeadline(longestCheckMs, undefined, pipeline.check).catch((error) => {
        if (current.set !== set) return;
        logger.warn("A pipeline cannot answer yet", { pipeline: pipeline.name, error });
      });
    }
    const openGate = () => createGate({ ...waitBounds, places: maxQueries });
    const { list, settled } = admitQueries(set.list, { openGate, waits, quotas, logger });
    return { set, list, settled, pings: createSingleFlight<readonly PipelineHealth[]>() };
  }

  async function end(set: PipelineSet): Promise<void> {
    const timer = retiring.get(set);
    if (timer === undefined) return;
    clearTimeout(timer);
    retiring.delete(set);
    try {
      await set[Symbol.asyncDispose]();
    } catch (error) {
      logger.warn("Cannot close the replaced pipelines", { error });
    }
  }

  return {
    list: (): readonly Pipeline[] => current.list,
    find: (name: string): Pipeline | undefined => current.list.find((pipeline) => pipeline.name === name),
    /** Pings every provider and database at once; callers that arrive while that runs share it. */
    health(): Promise<readonly PipelineHealth[]> {
      const { list, pings } = current;
      return pings.share(() => Promise.all(list.map((pipeline) => pipeline.health())));
    },
    /** From now on queries are answered by `next`; the set before it ends after the last of its queries. */
    replace(next: PipelineSet): void {
      const { set, settled } = current;
      const timer = setTimeout(() => end(set), Math.min(longestQueryMs, longestTimerMs));
      Deno.unrefTimer(timer);
      retiring.set(set, timer);
      current = run(next);
      settled().then(() => end(set));
    },
    async [Symbol.asyncDispose](): Promise<void> {
      for (const timer of retiring.values()) clearTimeout(timer);
      await Promise.all([current.set, ...retiring.keys()].map((set) => set[Symbol.asyncDispose]()));
    },
  };
}

/**
 * The same pipelines, each with a gate that its queries enter first, so that one whose provider hangs holds up no other;
 * and a promise that resolves as soon as they answer no query.
 */
function admitQueries(
  pipelines: readonly Pipeline[],
  { openGate, waits, quotas, logger }: {
    readonly openGate: () => Gate;
    readonly waits: Histogram;
    readonly quotas: ProviderQuotas | undefined;
    readonly logger: Logger;
  },
) {
  let underWay = 0;
  let onIdle = () => {};

  function end(): void {
    underWay--;
    if (underWay === 0) onIdle();
  }

  function admitted(pipeline: Pipeline): Pipeline {
    const gate = openGate();
    let toldAt = -Infinity;
    let untoldAt = -Infinity;

    /** @throws {UntoldCallerError} */
    function checkCaller(caller: PipelineQuery["caller"]): void {
      try {
        pipeline.checkCaller(caller);
      } catch (error) {
        if (performance.now() - untoldAt > refusedToldMs) {
          untoldAt = performance.now();
          logger.warn("Questions are refused: the database cannot be told who asks", {
            pipeline: pipeline.name,
            error,
          });
        }
        throw error;
      }
    }

    async function begin(
      { caller, signal, span }: Pick<PipelineQuery, "caller" | "signal" | "span">,
    ): Promise<() => void> {
      checkCaller(caller);
      underWay++;
      try {
        const key = callerKey(readerFor(caller));
        const leave = await timed(waits, () => spanned(span, "queue", () => gate.enter(key, signal)));
        return () => {
          leave();
          end();
        };
      } catch (error) {
        end();
        if (!signal.aborted && performance.now() - toldAt > refusedToldMs) {
          toldAt = performance.now();
          logger.warn("Queries are refused: too many are under way or wait", { pipeline: pipeline.name });
        }
        throw error;
      }
    }

    async function within<Asked extends Parameters<typeof begin>[0], T>(
      asked: Asked,
      work: (asked: Asked) => Promise<T>,
    ): Promise<T> {
      const leave = await begin(asked);
      try {
        return await work(asked);
      } finally {
        leave();
      }
    }

    /** @throws {AppError} `quota_exceeded` */
    function counted(query: PipelineQuery): PipelineQuery {
      const { caller } = query;
      if (quotas?.isOn !== true || caller === undefined) return query;
      quotas.beforeProvider(caller);
      return { ...query, onUsage: (usage) => quotas.usedTokens(caller, tokensOf(usage)) };
    }

    return {
      ...pipeline,
      checkCaller,
      answer: async (asked) => await within(counted(asked), (query) => pipeline.answer(query)),
      findDocuments: async (asked) => await within(counted(asked), (query) => pipeline.findDocuments(query)),
      readDocument: (key, caller) => within(caller, () => pipeline.readDocument(key, caller)),
      async *stream(asked) {
        const query = counted(asked);
        const leave = await begin(query);
        yield* readAhead(pipeline.stream(query), leave);
      },
    };
  }

  const list = pipelines.map(admitted);
  /** For the one who replaces them. */
  const settled = (): Promise<void> =>
    new Promise((resolve) => {
      onIdle = resolve;
      if (underWay === 0) resolve();
    });
  return { list, settled };
}

/** So much of an answer is made before its client takes it, in characters: far more than a model writes in one. */
const mostAhead = 1_048_576;
/** What an event takes besides its text. */
const eventSize = 64;

/**
 * The events of an answer, which are made whether or not they have been asked for: a client that reads slowly keeps neither
 * the provider's stream open nor its place in the pipeline.
 *
 * @param onMade called once, when the last event was made or there will be none
 */
export async function* readAhead(
  events: AsyncIterable<PipelineEvent>,
  onMade: () => void,
): AsyncGenerator<PipelineEvent, void> {
  const made: PipelineEvent[] = [];
  let ahead = 0;
  let isOver = false;
  let hasLeft = false;
  let fault: { readonly thrown: unknown } | undefined;
  let change = Promise.withResolvers<void>();
  const changed = () => {
    change.resolve();
    change = Promise.withResolvers();
  };

  async function make(): Promise<void> {
    try {
      for await (const event of events) {
        made.push(event);
        ahead += sizeOf(event);
        changed();
        while (ahead > mostAhead && !hasLeft) await change.promise;
        if (hasLeft) return;
      }
    } catch (thrown) {
      fault = { thrown };
    } finally {
      isOver = true;
      onMade();
      changed();
    }
  }

  void make();
  try {
    for (;;) {
      const event = made.shift();
      if (event !== undefined) {
        ahead -= sizeOf(event);
        changed();
        yield event;
      } else if (!isOver) await change.promise;
      else if (fault !== undefined) throw fault.thrown;
      else return;
    }
  } finally {
    hasLeft = true;
    changed();
  }
}

function sizeOf(event: PipelineEvent): number {
  return eventSize + (event.type === "chunk" ? event.content.length : 0);
}
