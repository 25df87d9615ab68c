import { type ErrorCode, errorCodes, type ErrorMeaning } from "../src/core/app_error.ts";
import { providerErrors } from "../src/llm/provider_error.ts";
import { ragErrors } from "../src/rag_server/api/rag_errors.ts";
import { errorStatuses } from "../src/tool_server/http_replies.ts";
import { errorNumbers, messageErrors } from "../src/tool_server/mcp/json_rpc_error.ts";

const entries = <K extends string, V>(table: Readonly<Record<K, V>>) => Object.entries(table) as [K, V][];
const meaningCells = ({ means, remedy }: ErrorMeaning) => [means, remedy];

/** A row for each number of JSON-RPC: what is wrong with a message, then what is wrong with a call. */
export function jsonRpcRows(): string[][] {
  return [
    ...entries<string, ErrorMeaning>(messageErrors).map((
      [number, meaning],
    ) => [`\`${number}\``, "", ...meaningCells(meaning)]),
    ...entries<ErrorCode, number>(errorNumbers).map((
      [code, number],
    ) => [`\`${number}\``, `\`${code}\``, ...meaningCells(errorCodes[code])]),
  ];
}

/** A row for each HTTP status of the tool server. */
export function statusRows(): string[][] {
  return entries<string, ErrorMeaning>(errorStatuses).map((
    [status, meaning],
  ) => [`\`${status}\``, ...meaningCells(meaning)]);
}

/** A row for each code of the RAG server. */
export function ragRows(): string[][] {
  return entries<string, ErrorMeaning & { status: number }>(ragErrors).map((
    [code, { status, ...meaning }],
  ) => [`\`${code}\``, String(status), ...meaningCells(meaning)]);
}

/** A row for each kind of a provider's error. */
export function providerRows(): string[][] {
  return entries(providerErrors).map(([kind, { phrase, remedy }]) => [`\`${kind}\``, phrase, remedy]);
}

/** The page before it is formatted. */
export function errorsPage(): string {
  const table = (rows: string[][]) => rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
  return `# Errors

What Postern answers where it gives no result, and what to do. Each reply over HTTP has an \`X-Request-Id\`; the
log has the detail under the same id ([operations](operations.md#logs)).

## The tool server: JSON-RPC

| Number | Name | What it means | What to do |
| --- | --- | --- | --- |
${table(jsonRpcRows())}

- Most of what goes wrong while a tool runs is no error of JSON-RPC. It is a result with \`isError: true\` and a
  text for the model: what is wrong with the statement, its SQLSTATE, and what to try instead.
- The names are those of the sources. A tool's error has a number only where no model can mend it
  (\`overloaded\`, \`forbidden\`), or where the call did not fit the tool (\`invalid\`).
- If \`overloaded\` comes often, [capacity](capacity.md) says what to raise.

## The tool server: HTTP status

| Status | What it means | What to do |
| --- | --- | --- |
${table(statusRows())}

A reply of JSON-RPC has status 200, with an error too, unless this table says otherwise.

## The RAG server

The body is \`{"error": {"code": "…", "message": "…"}}\`.

| Code | Status | What it means | What to do |
| --- | --- | --- | --- |
${table(ragRows())}

An answer in parts has status 200 from its first event on. If it fails later, its last event is
\`{"type": "error", "error": "…"}\` with the message alone.

## What providers answer

Callers read one of these phrases in place of a provider's own words, which might hold a part of a key. The log
has those words, and [the metrics](metrics.md) have the kind as \`outcome\`.

| Kind | Message | What the operator does |
| --- | --- | --- |
${table(providerRows())}

## On the command line

A command that fails prints \`Cannot …: the reason\` to standard error and exits with 1; with 2 where the command
line itself is wrong. [Operations](operations.md#starting-and-stopping) lists all exit codes.
`;
}
