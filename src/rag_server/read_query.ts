import type { PipelineQuery } from "./query.ts";
import type { z } from "@hono/zod-openapi";
import { parseExactJson } from "./exact_json.ts";
import { findExcess } from "../http/request_body.ts";
import { queryRequest } from "./rag_request_schema.ts";

export type QueryRead =
  | { readonly kind: "query"; readonly query: Omit<PipelineQuery, "signal">; readonly stream: boolean }
  /** Names each field at fault and what was expected of it. */
  | { readonly kind: "fault"; readonly message: string };

/** Reads the body of a query, within all the bounds that can be checked without a database. */
export function readQuery(text: string): QueryRead {
  const excess = findExcess(text);
  if (excess !== undefined) return { kind: "fault", message: `the body: ${excess}` };
  let body: unknown;
  try {
    body = parseExactJson(text);
  } catch {
    return { kind: "fault", message: "the body: expected JSON" };
  }
  const result = queryRequest.safeParse(body);
  if (!result.success) return { kind: "fault", message: faultText(result.error.issues) };
  const { query, stream, top_n: topN, filter, include_sources, disable_hybrid, messages } = result.data;
  return {
    kind: "query",
    query: {
      query,
      ...(topN === undefined ? {} : { topN }),
      ...(filter === undefined
        ? {}
        : { filter: { conditions: filter.conditions.map(compact), logic: filter.logic ?? "AND" } }),
      includeSources: include_sources ?? false,
      disableHybrid: disable_hybrid ?? false,
      messages: messages ?? [],
    },
    stream: stream ?? false,
  };
}

type Parsed = NonNullable<z.output<typeof queryRequest>["filter"]>["conditions"][number];

function compact({ column, operator, value }: Parsed) {
  const hasValue = operator !== "IS NULL" && operator !== "IS NOT NULL";
  return hasValue ? { column, operator, value } : { column, operator };
}

const faultsShown = 5;

function faultText(issues: readonly z.core.$ZodIssue[]): string {
  const shown = issues.slice(0, faultsShown).map(({ path, message }) => `${placeOf(path)}: ${message}`);
  const rest = issues.length - shown.length;
  return shown.join("; ") + (rest > 0 ? `; and ${rest} more` : "");
}

function placeOf(path: readonly PropertyKey[]): string {
  if (path.length === 0) return "the body";
  return path.map((key) => typeof key === "number" ? `[${key}]` : `.${String(key)}`).join("").slice(1);
}
