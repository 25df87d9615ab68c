import { OpenAPIHono, type RouteConfig, z } from "@hono/zod-openapi";
import { bearerChallenge } from "../../identity/authentication.ts";
import { queryRequest } from "../query.ts";
import { chatRequest } from "./chat_face.ts";
import { loginReply, loginRequest, notASession } from "./login_endpoint.ts";
import {
  bodyError,
  databaseError,
  errorSchema,
  hostError,
  identityError,
  identityErrors,
  internalError,
  loginError,
  overloadedError,
  passagesError,
  type RagError,
  ragErrors,
  timeoutError,
  unauthorizedError,
} from "./rag_errors.ts";
import {
  healthReply,
  liveReply,
  partialHealthReply,
  pipelinesReply,
  queryReply,
  readyReply,
  searchReply,
  statsReply,
  streamEvent,
  usageReply,
} from "./rag_replies.ts";
import { type Issuers, securityOf, sessionScheme } from "./rag_security.ts";

const claimErrors: readonly RagError[] = Object.values(identityErrors);

const json = (schema: z.ZodType) => ({ "application/json": { schema } });

const header = (description: string, type: "string" | "integer", example: string | number) => ({
  description,
  schema: { type, example },
});

const headers = {
  Link: header(
    "Where this description is (RFC 8631); with every reply but a stream",
    "string",
    '</v1/openapi.json>; rel="service-desc"',
  ),
  "X-Request-Id": header(
    "Names the request in the server's log: the id that the request's own X-Request-Id gave, if it has up to 128 " +
      "letters, digits and _ . : = + / @ -, else a new one; with every reply",
    "string",
    "3f9a1c07-h",
  ),
};

const retryAfter = { "Retry-After": header("After how many seconds to try again", "integer", 1) };

const challenge = { "WWW-Authenticate": header("RFC 6750, section 3", "string", bearerChallenge()) };

const bodyOf = (schema: z.ZodType) => ({ body: { required: true, content: json(schema) } });

function success(description: string, schema: z.ZodType) {
  return { 200: { description, headers, content: json(schema) } };
}

/** What can go wrong on every path. */
const commonErrors: readonly RagError[] = [
  hostError,
  { code: "METHOD_NOT_ALLOWED", message: "DELETE is not for this path: expected GET or HEAD" },
  internalError,
];
const loginErrors: readonly RagError[] = [
  { code: "INVALID_REQUEST", message: "username: expected a text" },
  bodyError("too_large", "64 KiB"),
  loginError({ kind: "failed" }),
  loginError({ kind: "rate_limited", retryAfterSeconds: 60 }),
  loginError({ kind: "busy", retryAfterSeconds: 1 }),
];
const queryErrors: readonly RagError[] = [
  { code: "INVALID_REQUEST", message: "top_n: expected an integer from 1 to 100" },
  {
    code: "IDENTITY_CLAIM_REQUIRED",
    message: 'the caller has no claim "tenant", by which the database decides what may be read',
  },
  identityErrors.role,
  { code: "PIPELINE_NOT_FOUND", message: 'there is no pipeline "handbok"' },
  bodyError("too_large", "1 MiB"),
  {
    code: "QUOTA_EXCEEDED",
    message: "the limit calls_per_minute (60) is used up; try again in 12 s",
    retryAfterSeconds: 12,
  },
  { code: "EXECUTION_ERROR", message: "the provider could not be reached" },
  overloadedError,
  databaseError,
  timeoutError,
];

/** The responses of some errors, each with what it means and an example. */
function responsesOf(...given: readonly RagError[]) {
  const errors = [...new Set(given)];
  const statusOf = ({ code }: RagError) => ragErrors[code].status;
  const statuses = [...new Set(errors.map(statusOf))].sort((a, b) => a - b);
  return Object.fromEntries(statuses.map((status) => {
    const ofStatus = errors.filter((error) => statusOf(error) === status);
    const description = ofStatus.map(({ code }) =>
      ofStatus.length === 1 ? ragErrors[code].means : `${code}: ${ragErrors[code].means}`
    ).join(". ");
    const examples = Object.fromEntries(
      ofStatus.map(({ code, message }) => [code, { value: { error: { code, message } } }]),
    );
    const content = { "application/json": { schema: errorSchema, examples } };
    const isTemporary = ofStatus.some(({ retryAfterSeconds }) => retryAfterSeconds !== undefined);
    const all = {
      ...headers,
      ...(ofStatus.some(({ code }) => code === "UNAUTHORIZED") && challenge),
      ...(isTemporary && retryAfter),
    };
    return [status, { description, headers: all, content }];
  }));
}

const events = {
  "text/event-stream": {
    schema: z.string().describe("Server-sent events: after each `data: ` stands a StreamEvent as JSON"),
    example: 'data: {"type":"chunk","content":"Backups are "}\n\n',
  },
};

interface Reading extends Pick<RouteConfig, "operationId" | "tags" | "description"> {
  summary: string;
  /** Whether it needs no token. */
  isOpen?: true;
  /** Whether it needs a caller's claims where a proxy sends them. */
  isCallersOwn?: true;
  reply: z.ZodType;
  /** When the status of the reply is 503. */
  unavailable?: string;
}

/** What one can get, by path. */
const readings: Readonly<Record<string, Reading>> = {
  "/v1/openapi.json": {
    operationId: "getDescription",
    tags: ["Server"],
    summary: "This description",
    isOpen: true,
    reply: z.record(z.string(), z.unknown()).describe("An OpenAPI 3.0.3 document"),
  },
  "/v1/live": {
    operationId: "getLive",
    tags: ["Server"],
    summary: "Whether the server runs",
    description: "Answers at once and asks nobody",
    isOpen: true,
    reply: liveReply,
  },
  "/v1/ready": {
    operationId: "getReady",
    tags: ["Server"],
    summary: "Whether the server can reach the pipelines' databases",
    description: "Answers within a second, and asks no provider",
    isOpen: true,
    reply: readyReply,
    unavailable: "The database of no pipeline can be reached",
  },
  "/v1/health": {
    operationId: "getHealth",
    tags: ["Server"],
    summary: "Whether every pipeline's providers and database can be reached",
    description: "Asks all of them, which takes up to 5 seconds; the status is 200 either way",
    isOpen: true,
    reply: healthReply,
  },
  "/v1/pipelines": {
    operationId: "listPipelines",
    tags: ["Pipelines"],
    summary: "The pipelines, in the configuration's order",
    reply: pipelinesReply,
  },
  "/v1/usage": {
    operationId: "getUsage",
    tags: ["Server"],
    summary: "The caller's limits, and what is left of each",
    description: "Without limits the list is empty; asking counts in none of them",
    isCallersOwn: true,
    reply: usageReply,
  },
  "/v1/stats": {
    operationId: "getStats",
    tags: ["Pipelines"],
    summary: "Tokens used by each pipeline",
    description:
      "Pipelines that read as their callers are left out: the totals would tell a caller of others",
    reply: statsReply,
  },
};

interface DescribedServer {
  /** Whether it needs a token. */
  readonly asksWhoCalls?: boolean;
  /** Whether the claims of who asks come from a proxy. */
  readonly takesClaims?: boolean;
  /** Whether users may log in with a password. */
  readonly hasLogin?: boolean;
  /** Whether they may log out. */
  readonly hasLogout?: boolean;
  /** Whose access tokens let callers in. */
  readonly issuers?: Issuers | undefined;
  /** Whether it has OpenAI's API too. */
  readonly hasChat?: boolean;
}

const ofOpenai = z.record(z.string(), z.unknown());

const completion = ofOpenai.describe(
  "A chat.completion. Postern's own are `sources`, the documents that the answer was made from, and `search_query`, " +
    "what was searched for where that is not the question",
);

/** What there is of OpenAI's API, whose reference describes the replies. */
const chatPaths = [
  [
    ...["post", "/v1/chat/completions", "createChatCompletion"] as const,
    "Answers the last question from a pipeline's documents; with `stream` in chunks, then `[DONE]`",
    bodyOf(chatRequest),
    { ...json(completion), "text/event-stream": { schema: z.string() } },
  ],
  ["get", "/v1/models", "listModels", "The caller's pipelines as models", {}, json(ofOpenai)],
  [
    ...["get", "/v1/models/{id}", "getModel", "A pipeline as a model"] as const,
    { params: z.object({ id: z.string() }) },
    json(ofOpenai),
  ],
] as const;

/**
 * The description of the RAG server's API, OpenAPI 3.0.3, made from the schemas that check requests.
 *
 * @param version the server's
 */
export function ragOpenApi(
  version: string,
  { asksWhoCalls = false, takesClaims, hasLogin, hasLogout, issuers = {}, hasChat }: DescribedServer = {},
): object {
  const app = new OpenAPIHono();
  const { openAPIRegistry: registry } = app;
  const { schemes, requirements } = securityOf(issuers);
  const tokenErrors = asksWhoCalls
    ? [unauthorizedError, ...(issuers.identityProvider ? [{ ...identityError, retryAfterSeconds: 5 }] : [])]
    : [];
  if (asksWhoCalls) {
    for (const [name, scheme] of Object.entries(schemes)) {
      registry.registerComponent("securitySchemes", name, scheme);
    }
  }
  for (const [path, { isOpen, isCallersOwn, unavailable, ...described }] of Object.entries(readings)) {
    const { reply, ...reading } = asksWhoCalls && path === "/v1/health"
      ? { ...described, reply: partialHealthReply }
      : described;
    const refusals = takesClaims && isCallersOwn ? claimErrors : isOpen ? [] : tokenErrors;
    const ok = success(reading.summary, reply);
    const responses = {
      ...ok,
      ...responsesOf(...commonErrors, ...refusals),
      ...(unavailable === undefined ? {} : { 503: { ...ok[200], description: unavailable } }),
    };
    // with a token, the health tells more than without
    const security = asksWhoCalls && isOpen
      ? { security: path === "/v1/health" ? [{}, ...requirements] : [] }
      : {};
    registry.registerPath({ method: "get", path, ...reading, ...security, responses });
  }
  if (hasLogin) {
    registry.registerPath({
      method: "post",
      path: "/v1/login",
      operationId: "logIn",
      tags: ["Server"],
      summary: "Begins a session of a user",
      description: "As long as nobody has an account, there is nothing at this path",
      security: [],
      request: bodyOf(loginRequest),
      responses: { ...success("The session", loginReply), ...responsesOf(...commonErrors, ...loginErrors) },
    });
  }
  if (hasLogout) {
    registry.registerComponent("securitySchemes", "session", sessionScheme);
    registry.registerPath({
      method: "post",
      path: "/v1/logout",
      operationId: "logOut",
      tags: ["Server"],
      summary: "Ends the session whose token the request carries",
      description:
        "Its questions under way end too. A body is not read. As long as nobody has an account, there is nothing at " +
        "this path",
      security: [{ session: [] }, ...(issuers.authorizationServer ? [{ authorizationServer: [] }] : [])],
      responses: {
        204: { description: "The session has ended: its token is refused from now on", headers },
        ...responsesOf(...commonErrors, ...tokenErrors, notASession),
      },
    });
  }
  registry.register("StreamEvent", streamEvent);
  const params = z.object({
    name: z.string().openapi({ description: "The pipeline's name", example: "handbook" }),
  });
  const callersErrors = [...commonErrors, ...(takesClaims ? claimErrors : tokenErrors), ...queryErrors];
  const answered = success("The answer; in parts where `stream` is true", queryReply)[200];
  registry.registerPath({
    method: "post",
    path: "/v1/pipelines/{name}",
    operationId: "queryPipeline",
    tags: ["Pipelines"],
    summary: "Answers a question from a pipeline's documents",
    description:
      "With `stream`, the reply is a stream of server-sent events: each is one line `data:` with a StreamEvent as " +
      "JSON. Chunks come in order, then one `done` or one `error`. Any Content-Type is taken. Fields that are not " +
      "described are ignored, but those that are called as a setting of the pipeline, as `vector_weight`, are refused.",
    request: { params, ...bodyOf(queryRequest) },
    responses: {
      200: { ...answered, content: { ...answered.content, ...events } },
      ...responsesOf(...callersErrors),
    },
  });
  registry.registerPath({
    method: "post",
    path: "/v1/pipelines/{name}/search",
    operationId: "searchPipeline",
    tags: ["Pipelines"],
    summary: "Finds the passages for a question",
    description:
      "No model is asked for an answer. The passages are those that an answer would be made from, in their order: " +
      "a pipeline that reranks does so here. The body is that of a question; `stream` and `include_sources` say nothing.",
    request: { params, ...bodyOf(queryRequest) },
    responses: { ...success("The passages", searchReply), ...responsesOf(...callersErrors, passagesError) },
  });
  for (const [method, path, operationId, summary, request, content] of hasChat ? chatPaths : []) {
    const ok = { description: summary, headers, content };
    const failed = { description: "An error of OpenAI's API", headers, content: json(ofOpenai) };
    const responses = { 200: ok, default: failed };
    registry.registerPath({ method, path, operationId, tags: ["Pipelines"], summary, request, responses });
  }
  const authentication = asksWhoCalls
    ? "A request needs the token of a caller, except where its description says otherwise."
    : takesClaims
    ? "Questions and callers' own usage need a trusted proxy, which says who asks."
    : "There is no authentication.";
  return app.getOpenAPIDocument({
    openapi: "3.0.3",
    info: {
      title: "Postern RAG server",
      version,
      description:
        `Answers questions from documents in PostgreSQL. ${authentication} A path that is not described here is ` +
        "answered with 404 and the code NOT_FOUND.",
    },
    security: asksWhoCalls ? requirements : [],
    tags: [
      { name: "Pipelines", description: "Questions, and what answers them" },
      { name: "Server", description: "The state of the server" },
    ],
    servers: [{ url: "/", description: "The server that serves this description" }],
  });
}
