import type { Config, PipelineConfig } from "../../config/mod.ts";
import { createConnectionPools } from "../../postgres/pool/connection_pools.ts";
import type { DatabaseOptions } from "../../postgres/database_options.ts";
import { createPipelines } from "../../rag_server/create_pipelines.ts";
import type { Pipelines } from "../../rag_server/pipelines.ts";
import { type OpenPipeline, openPipeline, type OpenPipelineOptions } from "./open_pipeline.ts";

export interface PipelineSetOptions
  extends Omit<OpenPipelineOptions, "pools" | "passFile" | "vendors" | "databaseOptions"> {
  readonly config: Pick<Config, "pipelines" | "vendors" | "pass_file" | "max_connections">;
  /** For pipelines whose database the configuration does not name. */
  readonly databaseOptions?: (pipeline: PipelineConfig) => DatabaseOptions | undefined;
}

/** All pipelines of one configuration, with connections of their own. */
export interface PipelineSet extends AsyncDisposable {
  readonly pipelines: Pipelines;
  readonly list: readonly OpenPipeline[];
}

export async function openPipelineSet(
  { config, databaseOptions, ...options }: PipelineSetOptions,
): Promise<PipelineSet> {
  await using opening = new AsyncDisposableStack();
  const pools = opening.use(
    createConnectionPools({ maxConnections: config.max_connections, logger: options.logger }),
  );
  const list: OpenPipeline[] = [];
  for (const pipeline of config.pipelines) {
    const named = databaseOptions?.(pipeline);
    list.push(opening.use(
      await openPipeline(pipeline, {
        ...options,
        vendors: config.vendors,
        passFile: config.pass_file,
        pools,
        ...(named === undefined ? {} : { databaseOptions: named }),
      }),
    ));
  }
  const stack = opening.move();
  return { pipelines: createPipelines(list), list, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
