import type { ScopesByTool } from "../../identity/access_rules.ts";
import type { DatabaseDirectory } from "../../tool_server/tools/databases/database_directory.ts";
import { askPipeline, searchKnowledgebase } from "../../tool_server/tools/documents/ask_pipeline.ts";
import { type Embedding, generateEmbedding } from "../../tool_server/tools/documents/embedding.ts";
import { documentResources, fetchDocument } from "../../tool_server/tools/documents/fetch.ts";
import {
  createPipelineDirectory,
  type Pipelines,
} from "../../tool_server/tools/documents/pipeline_directory.ts";
import { searchDocuments } from "../../tool_server/tools/documents/search.ts";
import { similaritySearch } from "../../tool_server/tools/documents/similarity_search.ts";
import type { JsonObject } from "../../tool_server/call_context.ts";

export interface DocumentsOptions {
  /** Optional: none where the configuration has none. */
  readonly pipelines?: Pipelines | undefined;
  /** The pipeline that `search_knowledgebase` searches. Optional: without it, there is no such tool. */
  readonly knowledgebase?: string | undefined;
  /** Optional: none where no provider is configured. */
  readonly embedding?: Embedding | undefined;
}

/** The tools over documents and vectors, and the resources that they lead to. */
export function documentTools(
  { pipelines, knowledgebase, embedding }: DocumentsOptions,
  databases: DatabaseDirectory,
  view: JsonObject | undefined,
  scopesByTool: ScopesByTool,
) {
  const ofVectors = embedding === undefined ? [] : [
    similaritySearch({ directory: databases, embedding }),
    generateEmbedding(embedding),
  ];
  if (pipelines === undefined) return { tools: ofVectors, resources: [], rightsOf: undefined };
  const directory = createPipelineDirectory(pipelines);
  return {
    tools: [
      askPipeline(directory, view),
      searchDocuments(directory),
      fetchDocument(directory),
      ...(knowledgebase === undefined ? [] : [searchKnowledgebase(directory, knowledgebase)]),
      ...ofVectors,
    ],
    resources: [documentResources(directory, scopesByTool)],
    /** As that of the pipelines' directory. Optional: none where there are none. */
    rightsOf: directory.rightsOf,
  };
}
