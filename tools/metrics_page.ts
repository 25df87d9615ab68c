import { limitNames } from "../src/core/quotas/usage_counts.ts";
import { tokenRefusals } from "../src/identity/issuer/unverified_token.ts";
import type { MetricFamily } from "../src/core/metrics/metric_family.ts";
import { createServerMetrics } from "../src/core/metrics/server_metrics.ts";
import { ingestMetrics } from "../src/cli/operations/ingest_operation.ts";

/** A row of the table of a server's metrics: name, type, labels, and what it counts. */
export function serverRows(): string[][] {
  return createServerMetrics().families.map(rowOf);
}

/** A row of the table of what `-ingest` leaves. */
export function ingestRows(): string[][] {
  return ingestMetrics().map(rowOf);
}

function rowOf({ name, type, labels, help }: MetricFamily): string[] {
  return [`\`${name}\``, type, labels.map((label) => `\`${label}\``).join(", "), help];
}

const code = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(", ");

/** The page before it is formatted. */
export function metricsPage(): string {
  const table = (rows: string[][]) => rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
  return `# Metrics

What \`GET /metrics\` has, where \`metrics.address\` is set ([operations](operations.md#metrics)).

| Metric | Type | Labels | What it says |
| --- | --- | --- | --- |
${table(serverRows())}

Times are in seconds, sizes in bytes. A counter begins at 0 with the process and goes on over reloads. A series
begins when there is something to count. A label without a value is left out.

## Ingest

What \`-ingest\` leaves in \`metrics.ingest_folder\`. \`GET /metrics\` has none of it: scrape node_exporter, whose textfile
collector reads that folder ([operations](operations.md#metrics)).

| Metric | Type | Labels | What it says |
| --- | --- | --- | --- |
${table(ingestRows())}

\`result\` is \`added\`, \`changed\`, \`unchanged\`, \`removed\`, \`skipped\` or \`failed\`.

## Labels

| Label | Values |
| --- | --- |
| \`server\` | \`tool_server\`, \`rag_server\` |
| \`database\` | names of \`databases[]\`; in the RAG server, of pipelines |
| \`pipeline\` | names of \`pipelines[]\`; none for the provider that answers requests in words |
| \`provider\` | kind and model, as in \`anthropic/claude-sonnet-5-5\`; \`local\` alone |
| \`tool\` | names of Postern's tools; none for a tool that does not exist |
| \`route\` | \`/mcp/v1\`, \`/v1/pipelines/{name}\` and so on; \`other\` for paths that do not exist |
| \`code\` | the HTTP status; 499 if the client left before the reply |
| \`stage\` of \`postern_stage_seconds\` | \`identity\` (who is calling), \`guard\` (checking a statement; a remembered result does not count), \`queue\` (waiting for a connection; in the RAG server without a \`database\`, waiting to be let in), \`postgresql\` (with the connection), \`provider\` (waiting for one), \`reply\` (writing it) |
| \`stage\` of \`postern_query_stage_seconds\` | \`embedding\`, \`search\`, \`rerank\`, \`answer\` |
| \`state\` of connections | \`opening\`, \`idle\`, \`in_use\`, \`closing\`, \`stuck\` |
| \`state\` of rows to embed | \`waiting\`, \`set_aside\` |
| \`state\` of circuits | \`closed\`, \`open\`, \`half_open\` |
| \`host\` | \`HOST:PORT\` of \`hosts[]\` |
| \`role\` | \`primary\`, \`standby\`, \`unreachable\`, whose lag is infinite |
| \`origin\` | \`caller\` (a statement that a caller or a model wrote), \`own\` (one of Postern's) |
| \`reason\` | \`unauthorized\`, \`identity\`, \`host\`, \`origin\` |
| \`reason\` of issuers' tokens | ${code([...tokenRefusals, "unavailable"])} |
| \`what\` | \`configuration\`, \`tokens\`, \`users\`, \`certificate\`; of issuers \`keys\`, \`introspection\` |
| \`limit\` | ${code(limitNames)} |
| \`operation\` | \`complete\`, \`stream\`, \`embed\`, \`rerank\` |
| \`event\` | ${
    code(["register", "grant", "refresh", "deny", "revoke", "failed", "reuse"])
  } (a code or refresh token was used twice) |
| \`version\`, \`deno\`, \`v8\` | versions of Postern and of what it was built from |
| \`kind\` of tokens | \`prompt\`, \`completion\`, \`cache_creation\`, \`cache_read\` |
| \`process\` | none for one process; of several \`1\` and on, and \`parent\` |
| \`of\` | \`configuration\`, \`tokens\`, \`users\`; \`server tokens\` and \`server users\` where the RAG server has files of its own |
| \`generation\` | 12 hex digits, alike where the content is; \`none\` without a file |
| \`kind\` of memory | \`used\`, \`total\`, \`external\` |

\`outcome\` is:

- of statements: \`rows\`, \`refused\` (by Postern), \`failed\` (in PostgreSQL), \`timeout\`, \`cancelled\`,
  \`unavailable\` (no connection), \`overloaded\` (refused for want of room);
- of calls of tools: \`ok\`, \`invalid\` (arguments), \`error\`, or what its statement ended with;
- of logins: \`success\`, \`unknown_user\`, \`wrong_password\`, \`locked\`, \`disabled\`, \`rate_limited\`, \`busy\`;
- of reloads: \`ok\`, \`failed\` (the old data stays);
- of calls of providers: \`ok\`, \`cancelled\` (by the caller), \`declined\` and \`empty\` (no answer), or the error's
  kind: \`credentials\`, \`rate_limit\`, \`invalid_request\`, \`unsupported\`, \`provider\`, \`unreachable\`, \`timeout\`,
  \`internal\`;
- of questions: \`ok\`, \`client_left\`, or the error's code in small letters, such as \`overloaded\`.
`;
}
