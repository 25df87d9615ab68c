import {
  type BuiltinPromptOptions,
  databaseArgument,
  databaseStep,
  databaseWords,
  definePrompt,
} from "./builtin_prompt.ts";

/** Leads a model through a database that its user does not know. */
export function exploreDatabase(options: BuiltinPromptOptions) {
  return definePrompt({
    name: "explore-database",
    title: "Explore a database",
    description:
      "Find out what a database holds, how its tables belong together and which questions it can answer.",
    arguments: [
      databaseArgument,
      { name: "schema", title: "Schema", description: "Only this schema; all of them where it is left out." },
    ],
    text(args, writing) {
      const { has, steps } = writing;
      const schema = args["schema"] === undefined ? undefined : JSON.stringify(args["schema"]);
      const filter = schema === undefined ? "" : `schema_name=${schema}, `;
      const looksAtTables = has("get_schema_info");
      return `Look through ${databaseWords(args)}${
        schema === undefined ? "" : `, its schema ${schema} alone,`
      } and tell me what is in it.

${
        steps(
          databaseStep(args, writing),
          looksAtTables
            ? `Call get_schema_info(${filter}compact=true) for one line on every table.`
            : undefined,
          looksAtTables
            ? "Call get_schema_info with schema_name and table_name for the few tables that matter most: those that " +
              "others refer to, and the largest ones. Names, types, keys and comments tell most of what you need."
            : undefined,
          has("query_database")
            ? "Only where these leave open what a column holds, look at some rows with query_database: SELECT the " +
              "columns in question with LIMIT 5."
            : undefined,
          has("count_rows")
            ? "Call count_rows only where the estimated number of rows is not enough."
            : undefined,
          "Then tell me: what the database is for; its tables by subject, and by which columns they join; which are " +
            "large; which columns hold texts, documents or vectors that can be searched; what looks unusual, such as " +
            "tables without a key; and five questions that it can answer.",
        )
      }

Say what you did not look at. If you see no table at all, say that the role may read none, and stop.`;
    },
  }, options);
}
