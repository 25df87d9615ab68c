import { knownModel } from "../llm/onnx/read_model_folder.ts";

const questions = [
  ["List the tools", "tools/list", {}],
  ["Run SQL", "tools/call", {
    name: "query_database",
    arguments: { query: "SELECT status, count(*) FROM orders GROUP BY status ORDER BY 2 DESC" },
  }],
  ["Ask in words", "tools/call", {
    name: "query_database",
    arguments: { query: "how many orders were placed last month" },
  }],
  ["And with another number, country or month", "tools/call", {
    name: "query_database",
    arguments: { query: "show the ten most expensive products" },
  }],
  ["What nobody wrote down gets the nearest questions", "tools/call", {
    name: "query_database",
    arguments: { query: "which customers may leave us" },
  }],
] as const;

/** What a person who started the demo over HTTP can paste into another terminal. The token is shown here alone. */
export function demoGreeting(options: { url: string; token?: string; hasConsole: boolean }): string {
  const { url, token, hasConsole } = options;
  const headers = [
    "-H 'Content-Type: application/json'",
    ...(token === undefined ? [] : [`-H "Authorization: Bearer $POSTERN_TOKEN"`]),
  ].join(" ");
  const calls = questions.flatMap(([title, method, params]) => [
    `# ${title}`,
    `curl -s ${url}/mcp/v1 ${headers} -d '${JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })}'`,
    "",
  ]);
  return [
    "",
    "Postern's demo: a sample shop in an embedded PostgreSQL.",
    "",
    ...(hasConsole ? consoleLines(url, token) : []),
    "Paste into another terminal:",
    "",
    ...(token === undefined ? [] : [`export POSTERN_TOKEN=${token}`, ""]),
    ...calls,
    "The questions in words are verified ones; docs/definitions.md shows how to write your own.",
    "Ctrl+C ends it; nothing is kept.",
  ].join("\n");
}

function consoleLines(url: string, token: string | undefined): string[] {
  return [`Open ${url}/console/ in a browser`, ...(token ? [`Its token: ${token}`] : []), ""];
}

/**
 * What a person who started the demo's RAG server can paste into another terminal.
 *
 * @param model the one that makes the embeddings; empty where they are hashed
 */
export function ragGreeting(url: string, model: string, { hasConsole }: { hasConsole: boolean }): string {
  const endpoint = `${url}/v1/pipelines/handbook`;
  const ask = (query: string, more: Readonly<Record<string, unknown>> = {}) =>
    `curl -sN -X POST ${endpoint} -d '${JSON.stringify({ query, ...more })}'`;
  return [
    "",
    "Postern's demo: the sample shop's handbook, which answers questions.",
    model === ""
      ? `Its embeddings know letters, not meaning. Run it with -pull ${knownModel.name} in this folder, and start again.`
      : `The model ${model} makes its embeddings on this machine.`,
    "",
    ...(hasConsole ? consoleLines(url, undefined) : []),
    "Paste into another terminal:",
    "",
    "# Ask",
    ask("How many days of annual leave do I get?"),
    "",
    "# With the documents behind the answer",
    ask("Who approves expenses over 500 euros?", { include_sources: true }),
    "",
    "# As a stream",
    ask("What does the gold tier get?", { stream: true }),
    "",
    "# Documents of one kind only",
    ask("What weight may one person lift alone?", {
      filter: { conditions: [{ column: "audience", operator: "=", value: "warehouse" }] },
    }),
    "",
    "Ctrl+C ends it; nothing is kept.",
  ].join("\n");
}
