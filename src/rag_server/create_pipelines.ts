import { createSingleFlight } from "../core/async/single_flight.ts";
import type { UsageCounter } from "../llm/usage_ledger.ts";
import type { Pipeline, PipelineHealth, Pipelines } from "./pipelines.ts";
import { type Pingable, reachabilityOf } from "./provider_health.ts";

/** A pipeline with what tells of its providers. */
export interface PipelineEntry {
  readonly pipeline: Pipeline;
  readonly embedding: { readonly provider: Pingable; readonly usage: UsageCounter };
  readonly completion: { readonly provider: Pingable; readonly usage: UsageCounter };
  readonly rerankUsage?: UsageCounter;
}

/** The pipelines of one configuration. */
export function createPipelines(entries: readonly PipelineEntry[]): Pipelines {
  const byName = new Map(entries.map(({ pipeline }) => [pipeline.name, pipeline]));
  const list = entries.map(({ pipeline }) => pipeline);
  const pings = createSingleFlight<readonly PipelineHealth[]>();

  async function ping(): Promise<readonly PipelineHealth[]> {
    return await Promise.all(entries.map(async ({ pipeline: { name }, embedding, completion }) => {
      const [reachableEmbedding, reachableCompletion] = await Promise.all([
        reachabilityOf(embedding.provider),
        reachabilityOf(completion.provider),
      ]);
      return { name, embedding: reachableEmbedding, completion: reachableCompletion };
    }));
  }

  return {
    list: () => list,
    find: (name) => byName.get(name),
    health: () => pings.share(ping),
    stats: () =>
      entries.map(({ pipeline: { name, description }, embedding, completion, rerankUsage }) => ({
        name,
        description,
        embedding: embedding.usage.read(),
        completion: completion.usage.read(),
        ...(rerankUsage !== undefined && { rerank: rerankUsage.read() }),
      })),
  };
}
