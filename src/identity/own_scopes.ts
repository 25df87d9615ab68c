import type { ServedBy } from "../core/metrics/server_metrics.ts";

/** Of access tokens of the built-in authorization server: all that the user may do. What has it is bound to no scopes. */
export const everyScope = "mcp";

/** To read databases, and to ask for documents: together all there is to do. */
const [dbRead, docsAsk] = ["db:read", "docs:ask"] as const;

/** What a client of each server is asked to ask for. */
export const scopesOfServer: Readonly<Record<ServedBy, readonly string[]>> = {
  tool_server: [dbRead, docsAsk],
  rag_server: [docsAsk],
};

/** Good for nothing. */
const noScope = "none";

/** To call one tool. */
export const toolScope = (tool: string) => `tool:${tool}`;

/** That consent shows; nobody reads more. */
const mostScopes = 20;

/**
 * Those of a request's `scope` that Postern knows, the first 20 of them; where there is none, all that the user may do, unless
 * one looks like Postern's and is none: whoever asked for less does not get everything.
 */
export function readScopes(text: unknown): readonly string[] {
  const all: readonly string[] = [everyScope, dbRead, docsAsk, noScope];
  const asked = typeof text === "string" ? [...new Set(text.split(" "))] : [];
  const known = asked.filter((each) => all.includes(each) || /^tool:[\w-]{1,64}$/.test(each));
  if (known.includes(everyScope)) return [everyScope];
  if (known.length > 0) return known.slice(0, mostScopes);
  return asked.some((each) => /^(?:db|docs|tool):/i.test(each)) ? [noScope] : [everyScope];
}

/** What a scope lets its bearer do, for people; `server`: that the token is for. */
export function scopeText(scope: string, server: ServedBy | undefined): string {
  if (scope === everyScope && server !== "rag_server") {
    return "do all that you may do: read the databases, and ask for answers from the documents, that you may use, in your name";
  }
  if (scope === noScope) return "nothing: the scopes that it asks for are not known here";
  const [, tool] = scope.split("tool:");
  if (tool !== undefined) return `call the tool ${tool}, in your name`;
  return scope === docsAsk || (scope === everyScope && server === "rag_server")
    ? "ask for answers from the documents that you may use, in your name"
    : "read the databases that you may use, in your name";
}

/** The tools that read pipelines: whoever may call one may ask the RAG server, and the other way round. */
export const documentTools: readonly string[] = ["ask_pipeline", "search", "fetch", "search_knowledgebase"];

/** Those that tell nothing of databases and documents. */
const freeTools: readonly string[] = ["authenticate_user", "find_tools", "logout", "usage"];

/** The tool that tells what a resource does; of a definitions file's, the one that reads it. */
export function toolOfResource(name: string): string {
  if (/^(?:databases|system_info)$/.test(name)) return "list_databases";
  if (/^(?:schema|table)$/.test(name)) return "get_schema_info";
  return name === "document" ? "fetch" : "read_resource";
}

/** All of those tools. */
export function toolsOfResource(name: string): readonly string[] {
  return name === "document" ? documentTools : ["read_resource", toolOfResource(name)];
}

/** The scope that a token with others lacks for an object; undefined where it lacks none. */
export function missingOwnScope(held: readonly string[], kind: string, name: string): string | undefined {
  const needs = (scope: string, tools: readonly string[]) =>
    [scope, ...tools.map(toolScope)].some((each) => held.includes(each)) ? undefined : scope;
  switch (kind) {
    case "server":
      return name === "rag_server" ? needs(docsAsk, documentTools) : undefined;
    case "tool":
      if (freeTools.includes(name)) return undefined;
      return needs(documentTools.includes(name) ? docsAsk : dbRead, [name]);
    case "resource":
      return needs(name === "document" ? docsAsk : dbRead, toolsOfResource(name));
    default:
      // that a tool reads
      return undefined;
  }
}

/** Whether a tool or a resource needs no more than the scope to ask for documents. */
export function isOfDocuments(kind: string, name: string): boolean {
  return missingOwnScope([docsAsk], kind, name) === undefined;
}
