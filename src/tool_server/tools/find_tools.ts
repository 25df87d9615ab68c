import { z } from "zod";
import { identifierWords, searchStem } from "../../text/word_stem.ts";
import { isFunctionWord, words } from "../../text/words.ts";
import type { ToolRegistry } from "./registry.ts";
import { defineTool, type Tool, type ToolDescription } from "./tool.ts";

/** Finds tools by words, for models whose list does not show them all. */
export function findTools({ usableTools }: Pick<ToolRegistry, "usableTools">): Tool {
  // a description is one object for as long as its tool is offered
  const known = new WeakMap<ToolDescription, ToolWords>();
  const wordsOf = (tool: ToolDescription) => {
    const found = known.get(tool) ?? readWords(tool);
    known.set(tool, found);
    return found;
  };
  return defineTool({
    name: "find_tools",
    title: "Find tools",
    description: "Find further tools, which are not listed, by what they are about. " +
      "Call one that it finds by its name.",
    input: z.strictObject({
      query: z.string().min(1).max(1_000).describe("Words of the task."),
      limit: z.int().min(1).max(20).default(5),
    }),
    output: z.object({
      tools: z.array(z.object({
        name: z.string(),
        title: z.string(),
        description: z.string(),
        input_schema: z.record(z.string(), z.unknown()),
      })),
    }),
    annotations: { idempotentHint: true },
    run({ query, limit }, { principal }) {
      const tools = rankTools(
        usableTools(principal).filter(({ name }) => name !== "find_tools"),
        new Set(stemsOf(words(query))),
        wordsOf,
      ).slice(0, limit).map(({ name, title, description, inputSchema }) => ({
        name,
        title,
        description,
        input_schema: { ...inputSchema },
      }));
      return Promise.resolve({
        text: tools.length === 0
          ? "No tool that you may use is about that. Try other words, or query_database."
          : JSON.stringify(tools),
        data: { tools },
      });
    },
  });
}

interface ToolWords {
  readonly inName: ReadonlySet<string>;
  readonly inDescription: ReadonlySet<string>;
}

function readWords({ name, title, description }: ToolDescription): ToolWords {
  return {
    inName: new Set(stemsOf([...identifierWords(name), ...words(title)])),
    inDescription: new Set(stemsOf(words(description))),
  };
}

function stemsOf(found: readonly string[]): string[] {
  return found.filter((word) => !isFunctionWord(word)).map(searchStem);
}

/** A word in a name says more of a tool than one in its description. */
const nameWeight = 2;

/** Those that have a word of the query, the best first; a word that few tools have counts for more. */
function rankTools(
  tools: readonly ToolDescription[],
  stems: ReadonlySet<string>,
  wordsOf: (tool: ToolDescription) => ToolWords,
): ToolDescription[] {
  const has = (tool: ToolDescription, stem: string) =>
    wordsOf(tool).inName.has(stem) || wordsOf(tool).inDescription.has(stem);
  const weights = new Map(Array.from(stems, (stem) => {
    const count = tools.filter((tool) => has(tool, stem)).length;
    return [stem, Math.log(1 + tools.length / Math.max(count, 1))] as const;
  }));
  const scored = tools.map((tool) => {
    const { inName, inDescription } = wordsOf(tool);
    let score = 0;
    for (const [stem, weight] of weights) {
      if (inName.has(stem)) score += weight * nameWeight;
      if (inDescription.has(stem)) score += weight;
    }
    return { tool, score };
  });
  return scored.filter(({ score }) => score > 0).toSorted((one, other) => other.score - one.score)
    .map(({ tool }) => tool);
}
