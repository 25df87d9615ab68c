import type { Logger } from "../../core/logger.ts";
import type { Pipelines } from "../../rag/pipelines.ts";
import type { PipelineSet } from "./pipeline_set.ts";

/** The pipelines that new queries are answered by. */
export interface CurrentPipelines extends AsyncDisposable {
  current(): Pipelines;
  /** From now on queries are answered by `next`; those under way finish on the set that they began with. */
  replace(next: PipelineSet): void;
}

export function createCurrentPipelines(
  first: PipelineSet,
  { longestQueryMs, logger }: { readonly longestQueryMs: number; readonly logger: Logger },
): CurrentPipelines {
  let set = first;
  const retiring = new Map<PipelineSet, ReturnType<typeof setTimeout>>();
  checkTables(set, logger);

  function retire(old: PipelineSet): void {
    async function end(): Promise<void> {
      retiring.delete(old);
      try {
        await old[Symbol.asyncDispose]();
      } catch (error) {
        logger.warn("Cannot end replaced pipelines", { error });
      }
    }
    const timer = setTimeout(end, longestQueryMs);
    Deno.unrefTimer(timer);
    retiring.set(old, timer);
  }

  return {
    current: () => set.pipelines,
    replace(next) {
      retire(set);
      set = next;
      checkTables(set, logger);
    },
    async [Symbol.asyncDispose]() {
      for (const timer of retiring.values()) clearTimeout(timer);
      await Promise.all([set, ...retiring.keys()].map((each) => each[Symbol.asyncDispose]()));
    },
  };
}

const longestCheckMs = 30_000;

function checkTables({ list }: PipelineSet, logger: Logger): void {
  for (const { config, check } of list) {
    check(AbortSignal.timeout(longestCheckMs)).catch((error) =>
      logger.warn("A pipeline cannot answer yet", { pipeline: config.name, error })
    );
  }
}
