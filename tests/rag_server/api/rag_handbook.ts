import { defined } from "../../../src/core/defined.ts";
import type { FoundDocuments } from "../../../src/rag_server/pipeline.ts";
import { createRagFixture, type RagFixture, type RagFixtureOptions } from "./rag_fixture.ts";
import {
  type Script,
  type ScriptedPipeline,
  scriptedPipeline,
  scriptedPipelines,
} from "./scripted_pipelines.ts";

export const done = { type: "done", sources: [], tokensUsed: 7 } as const;
export const chunk = (content: string) => ({ type: "chunk", content }) as const;

/** A body that asks for a stream. */
export const stream = { query: "q", stream: true };

/** The RAG server's routes over one pipeline, `handbook`. */
export function createHandbook(
  script: Script,
  options: Omit<RagFixtureOptions, "pipelines"> & {
    readonly allowsSources?: boolean;
    readonly maxQueries?: number;
    readonly found?: FoundDocuments;
  } = {},
): RagFixture & { readonly handbook: ScriptedPipeline } {
  const { allowsSources = true, maxQueries, found, ...rest } = options;
  const handbook = scriptedPipeline({ name: "handbook", allowsSources, script, ...defined({ found }) });
  return { handbook, ...createRagFixture({ ...rest, pipelines: scriptedPipelines([handbook], maxQueries) }) };
}
