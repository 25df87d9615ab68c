import { z } from "zod";
import { createFence } from "../../../text/fence.ts";
import { defineTool, type Tool } from "../tool.ts";
import { documentId, documentUri } from "./document_address.ts";
import { questionArgument } from "./document_arguments.ts";
import { documentTitle } from "./document_title.ts";
import type { PipelineDirectory } from "./pipeline_directory.ts";
import { findDocuments } from "./search.ts";

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
          ...(source !== undefined && { source }),
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
