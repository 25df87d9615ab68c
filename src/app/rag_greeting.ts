const questions = [
  "How many days of annual leave do I get?",
  "Who approves expenses over 500 euros?",
  "What does the gold tier get?",
] as const;

/** What a person who started the demo's RAG server can paste into another terminal. */
export function ragGreeting(url: string): string {
  const endpoint = `${url}/v1/pipelines/handbook`;
  const ask = (query: string, more: Readonly<Record<string, unknown>> = {}) =>
    `curl -sN -X POST ${endpoint} -d '${JSON.stringify({ query, ...more })}'`;
  const [leave, expenses, gold] = questions;
  return [
    "",
    "Postern's demo: the sample shop's handbook, which answers questions. Paste into another terminal:",
    "",
    "# Ask",
    ask(leave),
    "",
    "# With the documents behind the answer",
    ask(expenses, { include_sources: true }),
    "",
    "# As a stream",
    ask(gold, { stream: true }),
    "",
    "# Documents of one kind only",
    ask("What weight may one person lift alone?", {
      filter: { conditions: [{ column: "audience", operator: "=", value: "warehouse" }] },
    }),
    "",
    "Ctrl+C ends it; nothing is kept.",
  ].join("\n");
}
