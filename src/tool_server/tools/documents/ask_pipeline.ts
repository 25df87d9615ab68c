import { defined } from "../../../core/defined.ts";
import { z } from "zod";
import { AppError } from "../../../core/app_error.ts";
import type { QueryStage } from "../../../rag_server/mod.ts";
import { createFence } from "../../../text/fence.ts";
import { defineTool, type Tool } from "../tool.ts";
import { documentId, documentTitle, documentUri } from "./document_address.ts";
import { type PipelineDirectory, questionArgument } from "./pipeline_directory.ts";
import { findDocuments } from "./search.ts";
import type { JsonObject } from "../../call_context.ts";

// short, as models read it on every turn: the RAG server's own rules check the whole, and name what does not fit
const filter = z.strictObject({
  conditions: z.array(z.strictObject({
    column: z.string(),
    operator: z.string().describe("=, <, LIKE, IN, IS NULL, …"),
    value: z.unknown().optional(),
  })),
  logic: z.string().optional().describe("AND or OR."),
});

const message = z.strictObject({ role: z.enum(["user", "assistant"]), content: z.string() });

const input = z.strictObject({
  question: questionArgument,
  pipeline: z.string().min(1).max(1_000).optional().describe(
    "Only where there are several; an error lists them.",
  ),
  filter: filter.optional(),
  top_n: z.int().optional().describe("Documents to read."),
  messages: z.array(message).optional().describe("Earlier conversation."),
});

const output = z.object({
  pipeline: z.string(),
  answer: z.string(),
  sources: z.array(z.object({
    id: z.string().describe("For fetch."),
    title: z.string(),
    url: z.string(),
    score: z.number(),
  })).optional().describe("The documents that were read; absent where the pipeline does not show them."),
  tokens_used: z.int(),
});

/** How far an answer is where a stage begins, of `stages`. */
const begunStages: Readonly<Record<QueryStage, number>> = { retrieving: 0, reranking: 1, answering: 2 };
const stages = 3;

/** @param view as of `queryDatabase` */
export function askPipeline(pipelines: PipelineDirectory, view?: JsonObject): Tool {
  return defineTool({
    name: "ask_pipeline",
    title: "Ask a pipeline",
    description:
      "Have a question answered from the documents of a pipeline, by its own model, with the sources. Use it " +
      "where texts hold the answer; for rows and figures use query_database.",
    input,
    output,
    untrusted: ["answer", "sources"],
    annotations: { openWorldHint: true },
    meta: view,
    isFor: (principal) => pipelines.granted(principal).length > 0,
    mayBecomeTask: true,
    async run({ pipeline: name, question, filter, top_n, messages }, context) {
      const entry = pipelines.resolve(context.principal, name);
      const { readQuery } = await import("../../../rag_server/mod.ts");
      const read = readQuery(JSON.stringify({ query: question, filter, top_n, messages }));
      if (read.kind === "fault") throw new AppError("invalid", `Cannot call ask_pipeline: ${read.message}`);
      const { principal: caller, span, client } = context;
      const { answer, sources, tokensUsed, isShown } = await pipelines.use(
        entry,
        context,
        async (pipeline, signal) => ({
          ...await pipeline.answer({
            ...read.query,
            caller,
            signal,
            ...(span && { span }),
            onStage: (stage) => client?.notifyProgress?.(begunStages[stage], stages, stage),
          }),
          isShown: pipeline.allowsSources,
        }),
      );
      const shown = sources.map((source) => {
        const address = { pipeline: entry.name, key: source.key };
        return {
          id: documentId(address),
          title: documentTitle(source),
          url: documentUri(address),
          score: source.score,
        };
      });
      const list = shown.map(({ id, title }) => `${id}\t${title}`).join("\n");
      const listed = isShown && shown.length > 0 ? `\n\nSources (id for fetch, title):\n${list}` : "";
      return {
        text: `Pipeline: ${entry.name}\n\n${createFence().wrap(`${answer}${listed}`)}`,
        data: {
          pipeline: entry.name,
          answer,
          ...(isShown && { sources: shown }),
          tokens_used: tokensUsed,
        },
        links: isShown
          ? shown.map(({ title, url }) => ({
            type: "resource_link" as const,
            uri: url,
            name: title,
            mimeType: "text/plain",
          }))
          : [],
      };
    },
  });
}

/** @param name of the pipeline that is the knowledgebase */
export function searchKnowledgebase(pipelines: PipelineDirectory, name: string): Tool {
  return defineTool({
    name: "search_knowledgebase",
    title: "Search the knowledgebase",
    description:
      "Search the documentation that this server was given as its knowledgebase. Use it for how things work; " +
      "for what the database holds use query_database.",
    input: z.strictObject({
      query: questionArgument,
      top_n: z.int().min(1).max(20).default(5).describe("Passages to return."),
    }),
    output: z.object({
      results: z.array(z.object({
        id: z.string().describe("For fetch."),
        title: z.string(),
        url: z.string(),
        source: z.string().optional(),
        score: z.number(),
        text: z.string(),
      })),
    }),
    untrusted: ["results"],
    annotations: { idempotentHint: true },
    isFor: (principal) => pipelines.showing(principal).some((entry) => entry.name === name),
    async run({ query, top_n }, context) {
      const entry = pipelines.resolve(context.principal, name);
      const found = await findDocuments(pipelines, entry, query, top_n, context);
      const results = found.map(({ document }) => {
        const { key, url, source, score, content } = document;
        return {
          id: documentId({ pipeline: name, key }),
          title: documentTitle(document),
          url: url ?? documentUri({ pipeline: name, key }),
          ...defined({ source }),
          score,
          text: content,
        };
      });
      const passages = results.map(({ id, title, source, text }) =>
        [`id: ${id}`, `title: ${title}`, ...(source === undefined ? [] : [`source: ${source}`]), "", text]
          .join("\n")
      );
      return {
        text: passages.length === 0
          ? "Nothing was found."
          : `${passages.length === 1 ? "1 passage" : `${passages.length} passages`}, the best first:\n\n${
            createFence().wrap(passages.join("\n\n---\n\n"))
          }`,
        data: { results },
      };
    },
  });
}
