import {
  type BuiltinPromptOptions,
  databaseArgument,
  databaseStep,
  databaseWords,
  definePrompt,
  type PromptWriting,
} from "./builtin_prompt.ts";

/** Leads a model to the rows that are close to a text in meaning, or to what is missing for that. */
export function setupSemanticSearch(options: BuiltinPromptOptions) {
  return definePrompt({
    name: "setup-semantic-search",
    title: "Search by meaning",
    description:
      "Find the tables with vectors, and in them what is close to a text in meaning; or say what is missing.",
    arguments: [
      {
        name: "query_text",
        title: "What to look for",
        description: "The text whose meaning is looked for.",
        required: true,
      },
      databaseArgument,
    ],
    text(args, writing) {
      const { fence, has, steps } = writing;
      return `Find in ${databaseWords(args)} what is close in meaning to the text between these marks:

${fence.wrap(args["query_text"] ?? "")}

${
        steps(
          databaseStep(args, writing),
          has("get_schema_info")
            ? "Call get_schema_info(vector_tables_only=true). It shows the tables with pgvector columns, their " +
              "dimensions, indexes and comments."
            : undefined,
          "Choose the table whose texts are most likely to hold it. If several may, begin with the most special one.",
          searchStep(writing),
          has("search") && has("fetch")
            ? "Where no table holds such texts, documents may: call search, and fetch for the whole text of a result."
            : undefined,
          "Answer from what was found, and name the rows that you used. Say so where nothing is close: the nearest " +
            "rows are not always near.",
        )
      }

If no table has vectors, say what is missing, and write down the statements for whoever may run them: CREATE EXTENSION vector; a column of type vector with as many dimensions as the embedding model gives; an hnsw index for the distance that is searched by. The column is filled by the same model that searches use.`;
    },
  }, options);
}

function searchStep({ has }: PromptWriting): string {
  if (has("similarity_search")) {
    return "Call similarity_search with its table_name and the text as query_text: it makes the embedding itself. Where it " +
      "finds too little, try other words for the same.";
  }
  if (has("generate_embedding") && has("query_database")) {
    return "Call generate_embedding for the text, then query_database with ORDER BY the column's distance to it (<=> " +
      "for cosine) and LIMIT 10. The dimensions must be the column's: another number means another model.";
  }
  if (has("query_database")) {
    return "No tool here makes an embedding of the text. Where a row of the table is like what is looked for, its own " +
      "vector can be searched by; else search by words with query_database: websearch_to_tsquery, or ILIKE.";
  }
  return "No tool here searches tables: say so, and stop.";
}
