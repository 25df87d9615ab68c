import type { Pipeline, Pipelines } from "../../rag_server/pipelines.ts";

export interface CountedPipelines {
  readonly pipelines: Pipelines;
  /** Resolves as soon as no query is under way. */
  settled(): Promise<void>;
}

/** Pipelines that know of each query whether it is under way. */
export function countQueries(pipelines: Pipelines): CountedPipelines {
  let underWay = 0;
  let waiting: (() => void)[] = [];

  function end(): void {
    underWay--;
    if (underWay > 0) return;
    for (const resolve of waiting) resolve();
    waiting = [];
  }

  const counted = new Map(
    pipelines.list().map((pipeline): [string, Pipeline] => [pipeline.name, {
      ...pipeline,
      async answer(query) {
        underWay++;
        try {
          return await pipeline.answer(query);
        } finally {
          end();
        }
      },
      async *stream(query) {
        underWay++;
        try {
          yield* pipeline.stream(query);
        } finally {
          end();
        }
      },
    }]),
  );
  const list = [...counted.values()];
  return {
    pipelines: { ...pipelines, list: () => list, find: (name) => counted.get(name) },
    settled: () => underWay === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve)),
  };
}
