import { z } from "zod";
import { defineTool, type Tool } from "../tool.ts";
import { questionArgument } from "./document_arguments.ts";
import { type Embedding, embedText } from "./embedding.ts";

/** Single precision has no more that count. */
const digits = 7;

export function generateEmbedding(embedding: Embedding): Tool {
  return defineTool({
    name: "generate_embedding",
    title: "Generate an embedding",
    description:
      "Turn a text into a vector by the configured model, as a literal for pgvector. Vectors are long: to " +
      "search by meaning use similarity_search, which embeds by itself.",
    input: z.strictObject({ text: questionArgument }),
    output: z.object({ model: z.string(), dimensions: z.int(), vector: z.array(z.number()) }),
    annotations: { idempotentHint: true, openWorldHint: true },
    async run({ text }, context) {
      const embedded = await embedText(embedding, text, "query", context);
      const vector = Array.from(embedded, (value) => Number(value.toPrecision(digits)));
      const { model } = embedding;
      return {
        text: `Model: ${model}\nDimensions: ${vector.length}\n\n[${vector.join(",")}]`,
        data: { model, dimensions: vector.length, vector },
      };
    },
  });
}
