import { silentLogger } from "../../../src/core/logger.ts";
import type { FoundDocuments, Pipeline, PipelineEvent } from "../../../src/rag_server/pipeline.ts";
import type { PipelineQuery } from "../../../src/rag_server/query.ts";
import {
  createRunningPipelines,
  type PipelineSet,
  type RunningPipelines,
} from "../../../src/rag_server/running_pipelines.ts";
import { createUsageLedger } from "../../../src/llm/usage.ts";

/** What a pipeline answers, in parts. */
export type Script = (query: PipelineQuery) => AsyncIterable<PipelineEvent>;

export interface ScriptedPipeline extends Pipeline {
  /** The queries that came, oldest first. */
  readonly asked: readonly PipelineQuery[];
}

/** A pipeline that answers from a script, whose providers are well and have used nothing. */
export function scriptedPipeline(
  options: {
    name: string;
    description?: string;
    examples?: string[];
    availableToUsers?: readonly string[];
    allowsSources?: boolean;
    script: Script;
    /** What a search finds. */
    found?: FoundDocuments;
  },
): ScriptedPipeline {
  const { name, description = "", availableToUsers = [], allowsSources = true, script } = options;
  const { found = { sources: [], tokensUsed: 0 } } = options;
  const asked: PipelineQuery[] = [];
  function stream(query: PipelineQuery): AsyncIterable<PipelineEvent> {
    asked.push(query);
    return script(query);
  }
  const ledger = createUsageLedger();
  const reachable = { reachable: true } as const;
  return {
    kind: "pipeline",
    name,
    available_to_users: availableToUsers,
    description,
    examples: options.examples,
    allowsSources,
    asked,
    rightsKey: () => "",
    usage: { embedding: ledger.counter("embedding"), completion: ledger.counter("completion") },
    checkCaller: () => {},
    check: () => Promise.resolve(),
    ping: () => Promise.resolve(),
    health: () => Promise.resolve({ name, embedding: reachable, completion: reachable, database: reachable }),
    findDocuments(query) {
      asked.push(query);
      return Promise.resolve(found);
    },
    readDocument: () => Promise.resolve(undefined),
    stream,
    async answer(query) {
      let answer = "";
      for await (const event of stream(query)) {
        if (event.type === "done") {
          const { type: _, ...result } = event;
          return { answer, ...result };
        }
        answer += event.content;
      }
      throw new Error("The script has no last event");
    },
  };
}

/** A script of fixed events; an error in their place is thrown. */
export function script(...events: readonly (PipelineEvent | Error)[]): Script {
  return async function* () {
    for (const event of events) {
      await Promise.resolve();
      if (event instanceof Error) throw event;
      yield event;
    }
  };
}

/** Tells when a script was told to end, and why. */
export interface Hanging {
  readonly script: Script;
  readonly aborted: Promise<unknown>;
}

/** A script that after its events waits until it is told to end. */
export function hanging(...events: readonly PipelineEvent[]): Hanging {
  const { promise: aborted, resolve } = Promise.withResolvers<unknown>();
  return {
    aborted,
    async *script({ signal }) {
      const { promise, reject } = Promise.withResolvers<never>();
      promise.catch(() => {});
      signal.addEventListener("abort", () => {
        resolve(signal.reason);
        reject(signal.reason);
      });
      yield* events;
      yield await promise;
    },
  };
}

export function scriptedSet(list: readonly Pipeline[]): PipelineSet {
  return { list, [Symbol.asyncDispose]: () => Promise.resolve() };
}

export function scriptedPipelines(list: readonly Pipeline[], maxQueries = Infinity): RunningPipelines {
  const options = { longestQueryMs: 60_000, maxQueries, logger: silentLogger };
  return createRunningPipelines(scriptedSet(list), options);
}
