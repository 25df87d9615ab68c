import { documentResources } from "../tool_server/resources/document_resources.ts";
import type { DatabaseDirectory } from "../tool_server/tools/database_directory.ts";
import { askPipeline } from "../tool_server/tools/documents/ask_pipeline.ts";
import { fetchDocument } from "../tool_server/tools/documents/fetch.ts";
import {
  createPipelineDirectory,
  type Pipelines,
} from "../tool_server/tools/documents/pipeline_directory.ts";
import { searchDocuments } from "../tool_server/tools/documents/search.ts";

export interface DocumentsOptions {
  readonly pipelines: Pipelines;
}

/** The tools over documents, and the resources that they lead to. */
export function documentTools(options: DocumentsOptions, _directory: DatabaseDirectory) {
  const pipelines = createPipelineDirectory(options.pipelines);
  return {
    tools: [askPipeline(pipelines), searchDocuments(pipelines), fetchDocument(pipelines)],
    resources: documentResources(pipelines),
  };
}
