import assert from "node:assert/strict";
import { ragOpenApi } from "../../src/rag_server/api/rag_openapi.ts";
import { type ApiSchema, schemaFaults } from "./schema_faults.ts";

interface MediaType {
  readonly schema: ApiSchema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

export interface ApiOperation {
  readonly operationId: string;
  readonly security?: readonly unknown[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: Readonly<Record<string, MediaType>>;
  };
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content: Readonly<Record<string, MediaType>> }>
  >;
}

/** The part of an OpenAPI document that tests look into. */
export interface ApiDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, ApiSchema>>;
    readonly securitySchemes?: Readonly<Record<string, unknown>>;
  };
  readonly security: readonly unknown[];
}

/** The description as clients get it. */
export const ragApi: ApiDocument = JSON.parse(JSON.stringify(ragOpenApi("1.2.3")));
/** The same of a server that asks who is calling. */
export const callersApi = describeCallers(true);
/** And where nobody can log in. */
export const tokensApi = describeCallers(false);

/** Of a server that a proxy tells who asks. */
export const claimsApi: ApiDocument = JSON.parse(
  JSON.stringify(ragOpenApi("1.2.3", { asksWhoCalls: false, takesClaims: true, hasLogin: false })),
);

function describeCallers(hasLogin: boolean): ApiDocument {
  return JSON.parse(
    JSON.stringify(ragOpenApi("1.2.3", { asksWhoCalls: true, hasLogin, hasLogout: hasLogin })),
  );
}

const components = ragApi.components.schemas;

/**
 * Fails unless the description of the RAG server's API holds this reply. `path` is the request's, without its query.
 * What is answered to an unknown path, or to a method that a path does not have, is held against what the path's other
 * methods say.
 */
export function assertMatchesApi(
  method: string,
  path: string,
  status: number,
  body: unknown,
  api: ApiDocument = ragApi,
): void {
  const what = `${method} ${path} ${status}`;
  const schema = replySchema(api, method, path, status);
  assert.ok(schema, `${what} is not described`);
  assert.deepEqual(
    schemaFaults(schema, body, { components: api.components.schemas, isClosed: true }),
    [],
    what,
  );
}

/** Fails unless the description holds this event of a stream. */
export function assertEventMatchesApi(event: unknown): void {
  const schema = components.StreamEvent;
  assert.ok(schema);
  assert.deepEqual(schemaFaults(schema, event, { components, isClosed: true }), []);
}

/** Why the description does not let a client send this body as a query. */
export function queryFaults(body: unknown): string[] {
  const schema = ragApi.paths["/v1/pipelines/{name}"]?.post?.requestBody?.content["application/json"]?.schema;
  assert.ok(schema);
  return schemaFaults(schema, body, { components, isClosed: false });
}

function replySchema(
  { paths, components: { schemas } }: ApiDocument,
  method: string,
  path: string,
  status: number,
): ApiSchema | undefined {
  const operations = paths[path.replace(/^\/v1\/pipelines\/[^/]+/, "/v1/pipelines/{name}")];
  if (operations === undefined) return [401, 404].includes(status) ? schemas.ErrorResponse : undefined;
  const operation = operations[method === "HEAD" ? "get" : method.toLowerCase()] ??
    Object.values(operations)[0];
  return operation?.responses[String(status)]?.content["application/json"]?.schema;
}
