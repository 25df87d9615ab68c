/** What the tool server may use of the RAG server. It is much to load, so values are imported where they are first needed. */
export { pipelineError } from "./api/rag_errors.ts";
export type { FoundDocument, Pipeline, Source } from "./pipeline.ts";
export { type PipelineQuery, type QueryStage, readQuery } from "./query.ts";
export type { RunningPipelines } from "./running_pipelines.ts";
export { createTableSearch, type TableSearchRequest } from "./search_table.ts";
export type { DocumentDetails, StoredDocument } from "./search/stored_documents.ts";
