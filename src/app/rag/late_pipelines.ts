import type { Config } from "../../config/mod.ts";
import { callerRights } from "../../postgres/read/caller_settings.ts";
import type { PipelineEntry } from "../../tool_server/tools/documents/pipeline_directory.ts";
import { rowSecurityOf } from "../open_databases.ts";
import type { ServedPipelines, ServePipelinesOptions } from "./serve_pipelines.ts";

/** Pipelines for the tool server where no RAG server has opened them. */
export type LatePipelines = ReturnType<typeof createLatePipelines>;

/**
 * Opens pipelines when they are first used: a server whose callers ask none starts as fast as one that has none, and has
 * no connections for them. Until then a list of them is what the configuration says.
 */
export function createLatePipelines(options: ServePipelinesOptions) {
  let { config } = options;
  let opening: Promise<ServedPipelines> | undefined;
  let served: ServedPipelines | undefined;

  async function open(): Promise<ServedPipelines> {
    const opened = config;
    const { servePipelines } = await import("./serve_pipelines.ts");
    served = await servePipelines({ ...options, config: opened });
    // put in force while they were opened
    if (config !== opened) (await served.prepare(config))();
    return served;
  }

  return {
    pipelines: {
      list: () => served?.running.list() ?? config.pipelines.map(entryOf),
      async open() {
        opening ??= open().catch((error) => {
          opening = undefined;
          throw error;
        });
        return (await opening).running;
      },
    },
    async prepare(next: Config) {
      const put = await (await opening?.catch(() => undefined))?.prepare(next);
      return () => {
        config = next;
        if (put !== undefined) put();
        // opened meanwhile, for the configuration before this one
        else void opening?.then(async (late) => (await late.prepare(next))()).catch(() => {});
      };
    },
    async [Symbol.asyncDispose]() {
      await (await opening?.catch(() => undefined))?.[Symbol.asyncDispose]();
    },
  };
}

function entryOf(pipeline: Config["pipelines"][number]): PipelineEntry {
  const { name, description, available_to_users, allow_include_sources } = pipeline;
  return {
    kind: "pipeline",
    name,
    description,
    available_to_users,
    allowsSources: allow_include_sources,
    rightsKey: (principal) => callerRights({ name, ...rowSecurityOf(pipeline) }, principal),
  };
}
