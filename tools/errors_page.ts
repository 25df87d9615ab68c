import { type ErrorCode, errorCodes, type ErrorMeaning } from "../src/core/app_error.ts";
import { type ProviderErrorKind, providerErrors } from "../src/llm/provider_error.ts";
import { ragErrors } from "../src/rag_server/api/rag_errors.ts";
import type { ErrorStatus } from "../src/tool_server/http_replies.ts";
import { errorNumbers, type MessageErrorNumber } from "../src/tool_server/mcp/json_rpc_error.ts";

/** What is wrong with a message rather than with a call, by number. */
const messageErrors = {
  [-32700]: {
    means: "The body is not JSON in UTF-8, or too complex",
    remedy: "Send JSON; the message says what is too complex",
  },
  [-32600]: {
    means: "The message is not a request of JSON-RPC 2.0, or its HTTP request is not as expected",
    remedy: "Correct what the message names; the HTTP status says more",
  },
  [-32601]: {
    means: "There is no such method",
    remedy:
      "Use a method of tools, resources, prompts or `completion/complete`, `server/discover`, or before " +
      "2026-07-28 `initialize` and `ping`",
  },
  [-32000]: {
    means: "`MCP-Protocol-Version` names no revision that is spoken, or `Accept` lacks JSON",
    remedy: "Name one that the message lists; accept both",
  },
  [-32020]: {
    means:
      "`MCP-Protocol-Version`, `Mcp-Method` or `Mcp-Name` is missing, or says something else than the body",
    remedy: "Have the header repeat what the body says; a proxy may have changed it",
  },
  [-32021]: {
    means: "The client does not say that it can do what the method needs",
    remedy: "Declare the capability that the message names",
  },
  [-32022]: {
    means: "The envelope of the request names no revision that is spoken",
    remedy: "Name one of `data.supported`",
  },
} as const satisfies Readonly<Record<MessageErrorNumber, ErrorMeaning>>;

/** The statuses of replies that are no answer. */
const errorStatuses = {
  400: {
    means:
      "The body is not JSON, not a request of JSON-RPC, or a batch that is too large; headers contradict it, name no " +
      "revision that is spoken, or say twice where it ends; or the client lacks what the method needs",
    remedy: "Correct what the error in the body names",
  },
  401: {
    means: "There is no token, or it is wrong, expired or removed, or its session has ended",
    remedy: "Send `Authorization: Bearer TOKEN`; a user logs in again",
  },
  403: {
    means: "`Host` or `Origin` is not allowed, or the token lacks a scope",
    remedy: "Get a token with the scopes that `WWW-Authenticate` names; for an operator: list the host in " +
      "`http.allowed_hosts`, the origin in `http.allowed_origins`",
  },
  404: {
    means: "There is nothing at this path; in 2026-07-28, the method is not known either",
    remedy: "Use `/mcp/v1`, `/health` or `/ready`, and a method that `server/discover` offers",
  },
  405: { means: "The path has another method", remedy: "Use the method that `Allow` names" },
  406: {
    means: "`Accept` lacks `application/json`",
    remedy: "Send `Accept: application/json, text/event-stream`",
  },
  408: {
    means: "The body did not arrive completely within 30 seconds",
    remedy: "Send it again; look at the network or the proxy",
  },
  413: {
    means: "The body is larger than 4 MiB, or a login than 64 KiB",
    remedy: "Send less at once",
  },
  415: {
    means: "The body is said to be something else than JSON, or to be compressed",
    remedy: "Send `Content-Type: application/json`, and the body as it is",
  },
  429: {
    means: "Too many logins failed at this address, or the caller has used up a limit",
    remedy: "Wait for `Retry-After` seconds, then try again; log in with the right password",
  },
  500: errorCodes.internal,
  503: {
    means:
      "There is no room for the call or the login, the audit trail cannot be written, or an issuer does not answer (`/ready`: no database can be reached)",
    remedy: "Wait for `Retry-After` seconds, then try again",
  },
} as const satisfies Readonly<Record<ErrorStatus | 401 | 405 | 500, ErrorMeaning>>;

/** What the operator does about each kind of a provider's error. */
const providerRemedies: Readonly<Record<ProviderErrorKind, string>> = {
  credentials: "Correct the key, or the account behind it: `-doctor` tries it",
  rate_limit: "Raise the limit at the provider, or name a fallback",
  invalid_request: "Correct the model's name; or the model declined to answer, as the log then says",
  unsupported: "Configure a provider that can do it",
  provider: "Look at the log, and at the provider's state",
  unreachable: "Check the address, the network and the proxy; if it passes, nothing",
  timeout: "Raise `request_timeout`, or choose a quicker model",
  internal: "Look at the log, and report it",
};

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
  return entries(providerErrors).map(([kind, { phrase }]) => [`\`${kind}\``, phrase, providerRemedies[kind]]);
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
