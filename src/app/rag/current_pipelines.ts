import { longestTimerMs, withDeadline } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";
import type { Pipelines } from "../../rag_server/pipelines.ts";
import { type CountedPipelines, countQueries } from "./count_queries.ts";
import type { PipelineSet } from "./pipeline_set.ts";

/** The pipelines that new queries are answered by. */
export interface CurrentPipelines extends AsyncDisposable {
  current(): Pipelines;
  /**
   * From now on queries are answered by `next`; those under way finish on the set that they began with, which ends after
   * the last of them.
   */
  replace(next: PipelineSet): void;
}

interface CurrentPipelinesOptions {
  /** A set that was replaced ends after so long whatever it still does. */
  readonly longestQueryMs: number;
  readonly logger: Logger;
}

const longestCheckMs = 30_000;

interface Serving extends CountedPipelines {
  readonly set: PipelineSet;
}

export function createCurrentPipelines(
  first: PipelineSet,
  { longestQueryMs, logger }: CurrentPipelinesOptions,
): CurrentPipelines {
  let serving = serve(first);
  const retiring = new Map<PipelineSet, ReturnType<typeof setTimeout>>();

  function serve(set: PipelineSet): Serving {
    for (const { config, check } of set.list) {
      withDeadline(longestCheckMs, undefined, check).catch((error) => {
        if (serving.set !== set) return;
        logger.warn("A pipeline cannot answer yet", { pipeline: config.name, error });
      });
    }
    return { set, ...countQueries(set.pipelines) };
  }

  async function end(set: PipelineSet): Promise<void> {
    const timer = retiring.get(set);
    if (timer === undefined) return;
    clearTimeout(timer);
    retiring.delete(set);
    try {
      await set[Symbol.asyncDispose]();
    } catch (error) {
      logger.warn("Cannot end replaced pipelines", { error });
    }
  }

  return {
    current: () => serving.pipelines,
    replace(next) {
      const { set, settled } = serving;
      const timer = setTimeout(() => end(set), Math.min(longestQueryMs, longestTimerMs));
      Deno.unrefTimer(timer);
      retiring.set(set, timer);
      serving = serve(next);
      settled().then(() => end(set));
    },
    async [Symbol.asyncDispose]() {
      for (const timer of retiring.values()) clearTimeout(timer);
      await Promise.all([serving.set, ...retiring.keys()].map((set) => set[Symbol.asyncDispose]()));
    },
  };
}
