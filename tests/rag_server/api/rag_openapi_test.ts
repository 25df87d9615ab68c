import assert from "node:assert/strict";
import { ragOpenApi } from "../../../src/rag_server/api/rag_openapi.ts";
import { assertHas } from "../../support/assert_has.ts";
import {
  type ApiDocument,
  assertEventMatchesApi,
  callersApi,
  ragApi,
  tokensApi,
} from "../../support/rag_api.ts";
import { type ApiSchema, schemaFaults } from "../../support/schema_faults.ts";
import { createRagFixture } from "./rag_fixture.ts";
import { scriptedPipelines } from "./scripted_pipelines.ts";

const operationsOf = ({ paths }: ApiDocument) =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation }))
  );
const operations = operationsOf(ragApi);
const { components } = ragApi;
/** The descriptions of all kinds of servers. */
const documents = {
  "of a server that asks nobody": ragApi,
  "with tokens": tokensApi,
  "with logins": callersApi,
  "with OpenAI's API": JSON.parse(
    JSON.stringify(ragOpenApi("1.2.3", { asksWhoCalls: false, hasLogin: false, hasChat: true })),
  ) as ApiDocument,
};

/** Every object of the document, with its place. */
function* objectsOf(value: unknown, place = ""): Generator<[string, Record<string, unknown>]> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield [place, { ...value }];
  for (const [key, member] of Object.entries(value)) yield* objectsOf(member, `${place}/${key}`);
}

Deno.test("the description is served as it is made", async () => {
  const { send } = createRagFixture({ pipelines: scriptedPipelines([]) });
  const { status, text } = await send("GET", "/v1/openapi.json");
  assert.equal(status, 200);
  assert.deepEqual(JSON.parse(text), ragApi);
  assert.equal(ragApi.openapi, "3.0.3");
  assert.deepEqual([ragApi.info.title, ragApi.info.version], ["Postern RAG server", "1.2.3"]);
});

Deno.test("the description has a scheme for each issuer whose tokens let callers in", () => {
  const issuers = {
    authorizationServer: {
      issuer: "https://mcp.example.com",
      authorizationUrl: "https://mcp.example.com/oauth/authorize",
      tokenUrl: "https://mcp.example.com/oauth/token",
      scopes: ["docs:ask"],
    },
    identityProvider: { issuer: "https://login.example.com/realms/staff", requiredScopes: ["docs:read"] },
  };
  const api: ApiDocument = JSON.parse(
    JSON.stringify(ragOpenApi("1.2.3", { asksWhoCalls: true, hasLogin: true, issuers })),
  );
  const { token, authorizationServer, identityProvider } = api.components.securitySchemes ?? {};
  assert.match(JSON.stringify(token), /finds the issuers \(RFC 9728\)/);
  assertHas(authorizationServer, {
    type: "oauth2",
    flows: {
      authorizationCode: {
        authorizationUrl: "https://mcp.example.com/oauth/authorize",
        tokenUrl: "https://mcp.example.com/oauth/token",
        refreshUrl: "https://mcp.example.com/oauth/token",
        scopes: { "docs:ask": "ask for answers from the documents that you may use, in your name" },
      },
    },
  });
  assertHas(identityProvider, {
    type: "openIdConnect",
    openIdConnectUrl: "https://login.example.com/realms/staff/.well-known/openid-configuration",
  });
  const anyOf = [{ token: [] }, { authorizationServer: [] }, { identityProvider: ["docs:read"] }];
  assert.deepEqual(api.security, anyOf);
  assert.deepEqual(api.paths["/v1/health"]?.get?.security, [{}, ...anyOf]);
});

Deno.test("the description says what needs a token, and how to get one", () => {
  assert.deepEqual(ragApi.security, []);
  assert.equal(ragApi.components.securitySchemes, undefined);
  assert.ok(operations.every(({ operation }) => operation.security === undefined));
  for (const api of [tokensApi, callersApi]) {
    assert.deepEqual(api.security, [{ token: [] }]);
    assert.deepEqual(api.components.securitySchemes, {
      token: {
        type: "http",
        scheme: "bearer",
        description: "An API token, or the token of a session",
      },
      ...(api === callersApi && {
        session: {
          type: "http",
          scheme: "bearer",
          description: "The token of a session, which /v1/login gives",
        },
      }),
    });
    const open = operationsOf(api).filter(({ operation }) => operation.security !== undefined);
    assert.deepEqual(open.map(({ path, operation }) => [path, operation.security]), [
      ["/v1/openapi.json", []],
      ["/v1/live", []],
      ["/v1/ready", []],
      ["/v1/health", [{}, { token: [] }]],
      // an API token has no session to end
      ...(api === callersApi ? [["/v1/login", []], ["/v1/logout", [{ session: [] }]]] : []),
    ]);
    assert.equal(Object.hasOwn(api.paths, "/v1/logout"), api === callersApi);
    for (const { path, operation } of operationsOf(api)) {
      const isOpen = ["/v1/openapi.json", "/v1/live", "/v1/ready", "/v1/health"].includes(path);
      assert.equal(Object.hasOwn(operation.responses, "401"), !isOpen, path);
    }
    assert.deepEqual(api.components.schemas.HealthResponse?.required, ["status"]);
  }
  assert.deepEqual(components.schemas.HealthResponse?.required, ["status", "pipelines"]);
  const { LoginRequest, LoginResponse } = callersApi.components.schemas;
  assert.deepEqual(LoginRequest?.required, ["username", "password"]);
  assert.deepEqual(LoginResponse?.required, ["session_token", "expires_at"]);
  const statuses = Object.keys(callersApi.paths["/v1/login"]?.post?.responses ?? {});
  assert.deepEqual(statuses, ["200", "400", "401", "403", "405", "413", "429", "500", "503"]);
  const { responses = {} } = callersApi.paths["/v1/logout"]?.post ?? {};
  assert.deepEqual(Object.keys(responses), ["204", "400", "401", "403", "405", "500"]);
  assert.equal(responses["204"]?.content, undefined);
});

Deno.test("each path is described with the errors that it answers with", () => {
  const codesOf = (path: string, status: string) => {
    const { get, post } = callersApi.paths[path] ?? {};
    const [content] = Object.values((post ?? get)?.responses[status]?.content ?? {});
    return Object.keys(content?.examples ?? {});
  };
  assert.deepEqual(codesOf("/v1/login", "429"), ["RATE_LIMITED"]);
  assert.deepEqual(codesOf("/v1/pipelines/{name}", "429"), ["QUOTA_EXCEEDED"]);
  assert.deepEqual(codesOf("/v1/pipelines", "500"), ["INTERNAL_ERROR"]);
  assert.deepEqual(codesOf("/v1/pipelines", "503"), []);
  assert.deepEqual(codesOf("/v1/pipelines/{name}", "503"), ["OVERLOADED", "UNAVAILABLE"]);
});

Deno.test("every path, status and media type is described", () => {
  const described = operations.map(({ path, method, operation }) => {
    const replies = Object.entries(operation.responses).map(([status, { content }]) =>
      `${status} ${Object.keys(content).join(" ")}`
    );
    return [`${method} ${path}`, ...replies];
  });
  const reading = [
    "200 application/json",
    "403 application/json",
    "405 application/json",
    "500 application/json",
  ];
  assert.deepEqual(described, [
    ["get /v1/openapi.json", ...reading],
    ["get /v1/live", ...reading],
    ["get /v1/ready", ...reading, "503 application/json"],
    ["get /v1/health", ...reading],
    ["get /v1/pipelines", ...reading],
    ["get /v1/usage", ...reading],
    ["get /v1/stats", ...reading],
    [
      "post /v1/pipelines/{name}",
      "200 application/json text/event-stream",
      "400 application/json",
      "403 application/json",
      "404 application/json",
      "405 application/json",
      "413 application/json",
      "429 application/json",
      "500 application/json",
      "503 application/json",
      "504 application/json",
    ],
    [
      "post /v1/pipelines/{name}/search",
      "200 application/json",
      "400 application/json",
      "403 application/json",
      "404 application/json",
      "405 application/json",
      "413 application/json",
      "429 application/json",
      "500 application/json",
      "503 application/json",
      "504 application/json",
    ],
  ]);
  assert.deepEqual(components.schemas.ErrorResponse?.properties?.error?.properties?.code?.enum, [
    "INVALID_REQUEST",
    "IDENTITY_MALFORMED",
    "UNAUTHORIZED",
    "IDENTITY_REQUIRED",
    "FORBIDDEN",
    "IDENTITY_UNTRUSTED_PEER",
    "IDENTITY_CLAIM_REQUIRED",
    "IDENTITY_ROLE_NOT_ALLOWED",
    "NOT_FOUND",
    "PIPELINE_NOT_FOUND",
    "METHOD_NOT_ALLOWED",
    "REQUEST_TOO_LARGE",
    "RATE_LIMITED",
    "QUOTA_EXCEEDED",
    "EXECUTION_ERROR",
    "INTERNAL_ERROR",
    "OVERLOADED",
    "UNAVAILABLE",
    "REQUEST_TIMEOUT",
  ]);
});

Deno.test("a stream is described as text, in which the events stand", () => {
  const { responses } = ragApi.paths["/v1/pipelines/{name}"]?.post ?? {};
  const { schema, example } = responses?.["200"]?.content["text/event-stream"] ?? {};
  assert.equal(schema?.type, "string");
  const [, event] = /^data: (.*)\n\n$/.exec(String(example)) ?? [];
  assertEventMatchesApi(JSON.parse(event ?? ""));
});

Deno.test("the request's limits are described", () => {
  const { QueryRequest, Filter, Condition, Message } = components.schemas;
  assert.deepEqual(QueryRequest?.required, ["query"]);
  assert.deepEqual(Object.keys(QueryRequest?.properties ?? {}), [
    "query",
    "stream",
    "top_n",
    "filter",
    "include_sources",
    "disable_hybrid",
    "min_similarity",
    "messages",
  ]);
  const { query, top_n, min_similarity, messages } = QueryRequest?.properties ?? {};
  assert.deepEqual([query?.minLength, query?.maxLength], [1, 32_000]);
  assert.deepEqual([top_n?.type, top_n?.minimum, top_n?.maximum], ["integer", 1, 100]);
  assert.deepEqual([min_similarity?.type, min_similarity?.minimum, min_similarity?.maximum], [
    "number",
    0,
    1,
  ]);
  assert.equal(messages?.maxItems, 100);
  const { conditions, logic } = Filter?.properties ?? {};
  assert.deepEqual([conditions?.minItems, conditions?.maxItems], [1, 50]);
  assert.deepEqual(logic?.enum, ["AND", "OR", null]);
  assert.equal(Condition?.properties?.value?.maxItems, 1_000);
  assert.deepEqual(
    Condition?.properties?.operator?.enum,
    ["=", "!=", "<", ">", "<=", ">=", "LIKE", "ILIKE", "IN", "NOT IN", "IS NULL", "IS NOT NULL"],
  );
  assert.deepEqual(Message?.properties?.role?.enum, ["user", "assistant"]);
});

for (const [title, api] of Object.entries(documents)) {
  const { schemas } = api.components;
  Deno.test(`operations have names of their own, and parameters that their paths have: ${title}`, () => {
    const names = operationsOf(api).map(({ operation }) => operation.operationId);
    assert.equal(new Set(names).size, names.length);
    for (const { path, operation } of operationsOf(api)) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const parameters = operation.parameters ?? [];
      assert.deepEqual(parameters.map(({ name }) => name), inPath);
      for (const parameter of parameters) {
        assert.deepEqual([parameter.in, parameter.required], ["path", true]);
      }
      for (const { description } of Object.values(operation.responses)) assert.ok(description.length > 0);
    }
  });

  Deno.test(`references stand alone, and lead to schemas that are there: ${title}`, () => {
    const used = new Set<string>();
    for (const [place, object] of objectsOf(api)) {
      if (!("$ref" in object)) continue;
      assert.deepEqual(Object.keys(object), ["$ref"], place);
      const name = String(object.$ref).replace(/^#\/components\/schemas\//, "");
      assert.ok(Object.hasOwn(schemas, name), `${place}: ${object.$ref}`);
      used.add(name);
    }
    // what stands in a stream's text is no schema's part
    const { StreamEvent, ...others } = schemas;
    assert.ok(StreamEvent);
    assert.deepEqual([...used].sort(), Object.keys(others).sort());
  });

  Deno.test(`schemas have no keyword that OpenAPI 3.0.3 lacks, and none of its traps: ${title}`, () => {
    const known = new Set([
      ...[
        "$ref",
        "type",
        "nullable",
        "enum",
        "properties",
        "additionalProperties",
        "required",
        "items",
        "minItems",
      ],
      ...[
        "maxItems",
        "minLength",
        "maxLength",
        "pattern",
        "minimum",
        "maximum",
        "oneOf",
        "not",
        "discriminator",
      ],
      ...["default", "description", "example"],
    ]);
    const types = ["object", "array", "string", "number", "integer", "boolean", undefined];
    function check(schema: ApiSchema, place: string): void {
      for (const keyword of Object.keys(schema)) assert.ok(known.has(keyword), `${place}: ${keyword}`);
      assert.ok(types.includes(schema.type), place);
      if (schema.type === "array") assert.ok(schema.items, place);
      for (const name of schema.required ?? []) assert.ok(schema.properties?.[name], `${place}.${name}`);
      if (schema.required !== undefined) assert.ok(schema.required.length > 0, place);
      if (schema.pattern !== undefined) new RegExp(schema.pattern, "u");
      // null must be in the enumeration of what may be null (OpenAPI 3.0.3, Proposal 2019-10-31)
      if (schema.nullable === true && schema.enum !== undefined) assert.ok(schema.enum.includes(null), place);
      const parts = { ...schema.properties, items: schema.items, additional: schema.additionalProperties };
      for (const [name, part] of Object.entries(parts)) {
        if (part !== undefined) check(part, `${place}.${name}`);
      }
      schema.oneOf?.forEach((part, index) => check(part, `${place}.oneOf[${index}]`));
    }
    for (const [name, schema] of Object.entries(schemas)) check(schema, name);
  });

  Deno.test(`examples fit their schemas: ${title}`, () => {
    const rules = { components: schemas, isClosed: true };
    let count = 0;
    for (const [place, { schema, example, examples }] of objectsOf(api)) {
      if (typeof schema !== "object" || schema === null) continue;
      const named = Object.values(examples ?? {}).map(({ value }) => value);
      for (const value of example === undefined ? named : [example, ...named]) {
        assert.deepEqual(schemaFaults(schema, value, rules), [], place);
        count++;
      }
    }
    assert.ok(count >= 16, String(count));
    for (const [place, object] of objectsOf(schemas)) {
      for (const value of [object.example, object.default]) {
        if (value !== undefined) assert.deepEqual(schemaFaults(object, value, rules), [], place);
      }
    }
  });
}

Deno.test("the schemas of the tests tell what fits from what does not", () => {
  const rules = { components: { Name: { type: "string", minLength: 1 } }, isClosed: true } as const;
  const schema = {
    type: "object",
    required: ["name"],
    properties: { name: { $ref: "Name" }, size: { type: "integer", minimum: 1 } },
  } as const;
  assert.deepEqual(schemaFaults(schema, { name: "x", size: 1 }, rules), []);
  assert.deepEqual(schemaFaults(schema, { name: "", size: 0.5, x: 1 }, rules), [
    "$.name: a text of 0 characters that does not fit",
    "$.size: expected integer",
    "$.x: not described",
  ]);
  assert.deepEqual(schemaFaults(schema, {}, rules), ["$.name: missing"]);
  assert.deepEqual(schemaFaults(schema, null, rules), ["$: expected object"]);
});
