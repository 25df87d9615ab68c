import {
  type BuiltinPromptOptions,
  databaseArgument,
  databaseStep,
  databaseWords,
  definePrompt,
} from "./builtin_prompt.ts";

/** Leads a model to why a query fails, finds nothing, finds the wrong rows or takes long. */
export function diagnoseQueryIssue(options: BuiltinPromptOptions) {
  return definePrompt({
    name: "diagnose-query-issue",
    title: "Diagnose a query",
    description: "Find out why a query fails, returns nothing or not what was expected, or is slow.",
    arguments: [
      {
        name: "issue_description",
        title: "What is wrong",
        description: "The query with what it does and what it should do; an error message as it came.",
      },
      databaseArgument,
    ],
    text(args, writing) {
      const { fence, has, steps } = writing;
      const issue = args["issue_description"];
      return `Find out why a query to ${databaseWords(args)} does not do what it should.${
        issue === undefined
          ? " Ask me for the query and for what is wrong with it, unless this conversation tells."
          : ` What is wrong, in my words:\n\n${fence.wrap(issue)}`
      }

${
        steps(
          databaseStep(args, writing),
          has("read_resource") && options.tellsOfServer
            ? "Where the version, the time zone, the search path or an extension may matter, call " +
              'read_resource(uri="pg://system_info"): it tells of the current database.'
            : undefined,
          has("get_schema_info")
            ? "Call get_schema_info for the tables that the query names. Names are compared exactly, upper and lower " +
              "case included. A table or column that is not there may also be one that the role may not read."
            : undefined,
          has("query_database")
            ? "If the query fails: run it with query_database and read the error with its hint. Take parts away until " +
              "it runs; the last part that you took away is at fault. A refusal is no fault of the database: one " +
              "statement that only reads is let through, and none of the functions that change something."
            : undefined,
          has("count_rows") || has("query_database")
            ? "If it returns nothing or the wrong rows: start without conditions, then add them one by one" +
              `${
                has("count_rows") ? ", with count_rows" : ""
              }. Look at the values that are really there: upper and ` +
              "lower case, spaces, NULL, time zones, rows that a join doubles or drops."
            : undefined,
          has("execute_explain")
            ? "If it is slow: call execute_explain. Look for scans that throw most rows away, for estimates far from " +
              "the truth, and for a missing index." +
              (has("recommend_indexes") ? " recommend_indexes tells whether one would help." : "")
            : undefined,
          "Then tell me the cause and what shows it, a query that works, and what somebody with more rights would " +
            "have to do: a grant, an index, ANALYZE.",
        )
      }

If you cannot tell the cause, say which facts you lack rather than guess.`;
    },
  }, options);
}
