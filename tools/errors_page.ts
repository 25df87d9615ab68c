import type { ErrorCode } from "../src/core/app_error.ts";
import { type ProviderErrorKind, providerErrors } from "../src/llm/provider_error.ts";
import { ragErrors } from "../src/rag_server/api/rag_errors.ts";
import type { ErrorStatus } from "../src/tool_server/http_replies.ts";
import { errorNumbers, type MessageErrorNumber } from "../src/tool_server/mcp/json_rpc_error.ts";

interface ErrorMeaning {
  readonly means: string;
  readonly remedy: string;
}

/** What the errors of calls mean, and what to do about them. */
const callErrors = {
  invalid: {
    means: "An argument, a setting or a file is not as expected; the message names it",
    remedy: "Correct what the message names; the same request fails again",
  },
  unauthorized: {
    means: "The caller is not logged in, or no longer",
    remedy: "Log in again",
  },
  forbidden: {
    means: "The caller may not do that: the token lacks a scope, or a file or a role belongs to another user",
    remedy: "Get a token with the scopes in `data.scopes`; else do what the message says",
  },
  not_found: {
    means: "There is nothing of that name, or the caller may not know of it",
    remedy: "Correct the name; list what there is",
  },
  conflict: {
    means: "Something is there already, was made by another version, or changes at the same time",
    remedy: "Do what the message says, then try again",
  },
  rate_limited: {
    means: "Too many requests or failed logins",
    remedy: "Wait as long as the reply says, then try again",
  },
  quota_exceeded: {
    means: "The caller has used up a limit; `data.limit` names it",
    remedy: "Wait for `data.retryAfterSeconds`, then try again; for an operator: raise it in `limits`",
  },
  overloaded: {
    means: "There is no room for the call now, or its line in the audit trail cannot be written",
    remedy: "Wait for `data.retryAfterSeconds`, then try again",
  },
  unavailable: {
    means: "A database, provider, file or address cannot be reached or used",
    remedy: "Try again later; for an operator, `-doctor` says what to mend",
  },
  upstream: {
    means: "A database or provider was reached, and answered with an error",
    remedy: "For an operator: the log has the detail",
  },
  timeout: {
    means: "It took too long and was ended",
    remedy: "Ask for less, or have the operator raise the limit that the message names",
  },
  internal: {
    means: "A fault of Postern",
    remedy: "For an operator: the log has the detail under the request's id; report it",
  },
} as const satisfies Readonly<Record<ErrorCode, ErrorMeaning>>;

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
  500: callErrors.internal,
  503: {
    means:
      "There is no room for the call or the login, the audit trail cannot be written, or an issuer does not answer (`/ready`: no database can be reached)",
    remedy: "Wait for `Retry-After` seconds, then try again",
  },
} as const satisfies Readonly<Record<ErrorStatus | 401 | 405 | 500, ErrorMeaning>>;

/** What to do about each code of the RAG server. */
const ragRemedies: Readonly<Record<keyof typeof ragErrors, string>> = {
  INVALID_REQUEST: "Correct what the message names; the same request fails again",
  IDENTITY_MALFORMED: "Have the proxy send one JSON object, and take away a client's own header",
  UNAUTHORIZED: "Send `Authorization: Bearer TOKEN`, with an API token or the token of a session",
  IDENTITY_REQUIRED: "Log in at the proxy; for an operator: have it send the header that `identity` names",
  FORBIDDEN:
    "Get a token with the scopes that `WWW-Authenticate` names; for an operator: list the host in `server.allowed_hosts`, or set the pipeline's `allow_include_sources`",
  IDENTITY_UNTRUSTED_PEER: "Ask through the proxy; for an operator: list it in `identity.trusted_proxies`",
  IDENTITY_CLAIM_REQUIRED:
    "Ask with a token that has the claim; for an operator: have the identity provider or the proxy send it",
  IDENTITY_ROLE_NOT_ALLOWED:
    "For an operator: list the role in `allowed_roles`, or have the claim name another",
  NOT_FOUND: "Use a path of `/v1/openapi.json`",
  PIPELINE_NOT_FOUND:
    "Use a name of `GET /v1/pipelines`; for an operator: the log says of a pipeline why it could not start",
  METHOD_NOT_ALLOWED: "Use the method that `Allow` names",
  REQUEST_TOO_LARGE: "Send less: a shorter history, fewer values in the filter",
  RATE_LIMITED: "Wait for `Retry-After` seconds, then try again",
  QUOTA_EXCEEDED: "Wait for `Retry-After` seconds, then try again; for an operator: raise it in `limits`",
  EXECUTION_ERROR: "The message is one of the phrases below; for an operator: the log has the detail",
  INTERNAL_ERROR: callErrors.internal.remedy,
  OVERLOADED: "Wait for `Retry-After` seconds, then try again",
  UNAVAILABLE: "Wait for `Retry-After` seconds, then try again; for an operator: `-doctor` says what to mend",
  REQUEST_TIMEOUT: "Ask for less, with a lower `top_n`; for an operator: raise `server.request_timeout`",
};

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
    ) => [`\`${number}\``, `\`${code}\``, ...meaningCells(callErrors[code])]),
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
  return entries(ragErrors).map((
    [code, { status, means }],
  ) => [`\`${code}\``, String(status), means, ragRemedies[code]]);
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
