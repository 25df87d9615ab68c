import {
  type BuiltinPromptOptions,
  databaseArgument,
  databaseWords,
  definePrompt,
} from "./builtin_prompt.ts";

const useCases = {
  oltp: "many small transactions: third normal form, foreign keys, few indexes beside those of keys",
  olap:
    "analysis: facts and dimensions, columns repeated where that saves joins, partitions by time, few constraints " +
    "on what is loaded in bulk",
  hybrid: "transactions and analysis: third normal form, with materialized views for the analysis",
  general: "third normal form, and anything else only for a reason that the requirements give",
} as const;

function useCaseOf(name: string): string {
  return Object.entries(useCases).find(([useCase]) => useCase === name)?.[1] ?? useCases.general;
}

/** Leads a model to a schema for what its user wants to keep. */
export function designSchema(options: BuiltinPromptOptions) {
  return definePrompt({
    name: "design-schema",
    title: "Design a schema",
    description:
      "Design tables, keys, constraints and indexes for what is to be kept, as statements to run elsewhere.",
    arguments: [
      {
        name: "requirements",
        title: "Requirements",
        description: "What is to be kept, and what will be asked of it.",
        required: true,
      },
      {
        name: "use_case",
        title: "Use case",
        description: "oltp, olap, hybrid or general; general where it is left out.",
      },
      {
        name: "full_featured",
        title: "Complete design",
        description: "true: with all that a product needs; false, the default: only what is required.",
      },
      {
        ...databaseArgument,
        description: "Name of the database that the schema is to become part of, if any.",
      },
    ],
    choices: { use_case: Object.keys(useCases), full_featured: ["true", "false"] },
    text(args, { fence, has, steps }) {
      const { use_case: useCase = "general" } = args;
      const existing = args["database"] === undefined ? undefined : databaseWords(args);
      return `Design a schema for PostgreSQL that meets the requirements between these marks:

${fence.wrap(args["requirements"] ?? "")}

Use case: ${useCase}, which means ${useCaseOf(useCase)}.
${
        args["full_featured"] === "true"
          ? "Complete design: add what such a product needs in daily use, such as accounts, states, times of change and " +
            "a history, and say of each addition what it is for."
          : "Minimal design: only tables and columns that the requirements name or cannot do without. Leave out times " +
            "of change, states, counters and notes that nobody asked for. Before you end, take away every column for " +
            "which you find no sentence in the requirements."
      }

${
        steps(
          existing !== undefined && has("get_schema_info")
            ? `The schema becomes part of ${existing}: call get_schema_info(database=${
              JSON.stringify(args["database"])
            }, compact=true), follow its way of naming, and refer to its tables rather than make them again.`
            : undefined,
          has("search_knowledgebase")
            ? "Where you are not sure of a type or an extension, call search_knowledgebase before you decide."
            : undefined,
          "List the things to keep, what belongs to what, and how many of each there can be.",
          "Choose types: bigint GENERATED ALWAYS AS IDENTITY for keys, or uuid where keys are made elsewhere; text " +
            "rather than varchar(n) or char(n); numeric for money; timestamptz for moments, date for days; jsonb only " +
            "for what has no fixed shape; an enumeration or CHECK where few values are allowed.",
          "State the rules in the schema: NOT NULL, UNIQUE, CHECK, foreign keys with what a deletion does, EXCLUDE " +
            "for ranges that may not overlap. Model each relation once.",
          "Add an index for each foreign key and each frequent search, and no other: GIN for jsonb and full text, " +
            "pg_trgm for parts of words, pgvector only for search by meaning. Give the exact name that CREATE " +
            "EXTENSION takes (pgvector's is vector), and say so where you are not sure of it.",
        )
      }

Answer with: the tables and how they belong together in a few sentences; the statements in the order in which they run, with COMMENT ON for what a name does not tell; three queries that it must answer, with the index each of them uses; and what the requirements leave open. Nothing can be created through the tools here: I run the statements elsewhere.`;
    },
  }, options);
}
