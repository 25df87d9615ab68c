import type {
  Pipeline,
  PipelineHealth,
  Pipelines,
  PipelineStats,
  UsageCount,
} from "../../src/rag_server/pipelines.ts";
import type { PipelineEvent, PipelineQuery } from "../../src/rag_server/query.ts";

/** What a pipeline answers, in parts. */
export type Script = (query: PipelineQuery) => AsyncIterable<PipelineEvent>;

export interface ScriptedPipeline extends Pipeline {
  /** The queries that came, oldest first. */
  readonly asked: readonly PipelineQuery[];
}

/** A pipeline that answers from a script. */
export function scriptedPipeline(
  options: { name: string; description?: string; allowsSources?: boolean; script: Script },
): ScriptedPipeline {
  const { name, description = "", allowsSources = true, script } = options;
  const asked: PipelineQuery[] = [];
  function stream(query: PipelineQuery): AsyncIterable<PipelineEvent> {
    asked.push(query);
    return script(query);
  }
  return {
    name,
    description,
    allowsSources,
    asked,
    stream,
    async answer(query) {
      let answer = "";
      for await (const event of stream(query)) {
        if (event.type === "done") {
          const { sources, tokensUsed } = event;
          return { answer, ...(sources === undefined ? {} : { sources }), tokensUsed };
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

export const noTokens: UsageCount = {
  promptTokens: 0,
  completionTokens: 0,
  totalTokens: 0,
  cacheCreationInputTokens: 0,
  cacheReadInputTokens: 0,
};

/** Pipelines that are all well and have used nothing, unless told otherwise. */
export function scriptedPipelines(
  pipelines: readonly Pipeline[],
  { health, stats }: { health?: () => Promise<PipelineHealth[]>; stats?: () => PipelineStats[] } = {},
): Pipelines {
  const reachable = { reachable: true } as const;
  return {
    list: () => pipelines,
    find: (name) => pipelines.find((pipeline) => pipeline.name === name),
    health: health ??
      (() =>
        Promise.resolve(
          pipelines.map(({ name }) => ({ name, embedding: reachable, completion: reachable })),
        )),
    stats: stats ??
      (() =>
        pipelines.map(({ name, description }) => ({
          name,
          description,
          embedding: noTokens,
          completion: noTokens,
        }))),
  };
}
