import {
  type Counter,
  createCounters,
  createGauges,
  createHistograms,
  type Histogram,
  type MetricFamily,
  type Sample,
} from "./metric_family.ts";
import { sha256 } from "../text/sha256.ts";

/** The two servers, as labels name them. */
export type ServedBy = "tool_server" | "rag_server";

/** What a request's time goes to, in the order of its way. */
type Stage = "identity" | "guard" | "queue" | "postgresql" | "provider" | "reply";

/** How a statement ended: with rows, or as an error of that kind. */
const statementResults = [
  "rows",
  "refused",
  "failed",
  "timeout",
  "cancelled",
  "unavailable",
  "overloaded",
] as const;

/** What one database's statements count. */
export type StatementMetrics = ReturnType<ServerMetrics["ofDatabase"]>;

export type ProviderOperation = "complete" | "stream" | "embed" | "rerank";

/** What one configured provider counts. */
export type ProviderMetrics = ReturnType<ServerMetrics["ofProvider"]>;

/** What the time of a pipeline's questions goes to. */
export type QueryStages = Readonly<Record<(typeof queryStages)[number], Histogram>>;

const tokenKinds = ["prompt", "completion", "cache_creation", "cache_read"] as const;
const queryStages = ["embedding", "search", "rerank", "answer"] as const;
const circuitStates = ["closed", "open", "half_open"] as const;
export type CircuitState = typeof circuitStates[number];

export type ServerMetrics = ReturnType<typeof createServerMetrics>;

/**
 * Everything that is counted of the servers, from the start of the process on. Values of labels come from the configuration
 * or from fixed lists, never from callers: what callers choose has no bound, and would be read by others.
 */
export function createServerMetrics() {
  const made = {
    requests: createCounters(
      "postern_http_requests_total{server, route, code}",
      "HTTP requests, by route and status.",
    ),
    requestSeconds: createHistograms(
      "postern_http_request_seconds{server, route}",
      "Time until a reply began, by route.",
    ),
    refusals: createCounters(
      "postern_refusals_total{server, reason}",
      "Requests that were refused before they were read: for their token, the header that says who asks, Host or Origin.",
    ),
    quotaRefusals: createCounters(
      "postern_quota_refusals_total{limit}",
      "Calls and statements that were refused because their caller had used up a limit, by the limit.",
    ),
    toolCalls: createCounters(
      "postern_tool_calls_total{tool, outcome}",
      "Calls of tools, by how they ended; an unknown tool is one without a name.",
    ),
    toolSeconds: createHistograms("postern_tool_call_seconds{tool}", "Time that calls of a tool took."),
    stages: createHistograms(
      "postern_stage_seconds{server, stage, database}",
      "Time that requests spent in each stage; queue and postgresql by database.",
    ),
    statements: createCounters(
      "postern_statements_total{server, database, origin, outcome}",
      "Statements, by how they ended; origin says whether a caller sent them or Postern wrote them.",
    ),
    stopped: createCounters(
      "postern_statements_stopped_total{server, database}",
      "Statements that PostgreSQL was asked to cancel: their caller left, or they ran past their time.",
    ),
    rows: createCounters("postern_rows_total{server, database}", "Rows that statements returned."),
    rowBytes: createCounters(
      "postern_row_bytes_total{server, database}",
      "Bytes of these rows, as PostgreSQL sent them.",
    ),
    connections: createGauges(
      "postern_database_connections{server, database, state}",
      "Connections to databases, by state; PostgreSQL does not end the statement of a stuck one.",
    ),
    connectionsMax: createGauges(
      "postern_database_connections_max{server}",
      "Most connections to all databases together.",
    ),
    waiting: createGauges(
      "postern_database_waiting_requests{server, database}",
      "Requests that wait for a connection.",
    ),
    hostLag: createGauges(
      "postern_database_host_lag_seconds{server, database, host, role}",
      "How far a host is behind where callers are spread over standbys, by its role.",
    ),
    logins: createCounters("postern_logins_total{outcome}", "Logins, by how they ended."),
    lockouts: createCounters("postern_lockouts_total", "Accounts that were locked after failed logins."),
    issuerRefusals: createCounters(
      "postern_issuer_token_refusals_total{reason}",
      "Tokens that an issuer might have written and that were refused, by the reason.",
    ),
    issuerRequests: createCounters(
      "postern_issuer_requests_total{what, outcome}",
      "Requests to an issuer, for its keys or about an opaque token, by how they ended.",
    ),
    sessions: createGauges("postern_sessions", "Sessions of users who are logged in.", {
      ofSeveral: "largest",
    }),
    oauthEvents: createCounters(
      "postern_oauth_events_total{event}",
      "What the built-in authorization server did: registrations, logins at an issuer and their ends, grants, " +
        "refreshes, denials, revocations, refused requests for tokens, and what was used twice.",
    ),
    oauthGrants: createGauges(
      "postern_oauth_grants",
      "Grants that the built-in authorization server gave and that have not ended.",
      { ofSeveral: "largest" },
    ),
    auditLines: createGauges(
      "postern_audit_lines_total{outcome}",
      "Lines of the audit trail: written, or lost where no more could wait for its file.",
      { type: "counter" },
    ),
    auditWaiting: createGauges(
      "postern_audit_waiting_lines",
      "Lines that wait for the audit trail's file: more than some while it cannot be written.",
    ),
    reloads: createCounters(
      "postern_reloads_total{what, outcome}",
      "Reloads of files while the server ran, by what was read and whether it could be used.",
    ),
    providerCalls: createCounters(
      "postern_provider_calls_total{server, pipeline, provider, operation, outcome}",
      "Calls of providers, each with its retries, by how they ended; pipeline is empty for requests in words.",
    ),
    providerSeconds: createHistograms(
      "postern_provider_call_seconds{server, pipeline, provider, operation}",
      "Time that calls of providers took, with their retries; of a stream until its end.",
    ),
    providerRetries: createCounters(
      "postern_provider_retries_total{server, pipeline, provider}",
      "Further attempts of calls of providers.",
    ),
    providerTokens: createCounters(
      "postern_provider_tokens_total{server, pipeline, provider, kind}",
      "Tokens, as providers count them; prompt includes those of the cached parts.",
    ),
    circuits: createGauges(
      "postern_provider_circuits{server, pipeline, provider, state}",
      "Circuit breakers of providers in each state; an open one keeps requests away from a provider that fails.",
    ),
    queries: createCounters(
      "postern_queries_total{pipeline, outcome}",
      "Questions to pipelines, by how they ended.",
    ),
    querySeconds: createHistograms("postern_query_seconds{pipeline}", "Time until the end of an answer."),
    queryStages: createHistograms(
      "postern_query_stage_seconds{pipeline, stage}",
      "Time that questions spent in each stage of their answer.",
    ),
    embeddingRows: createGauges(
      "postern_embedding_rows{pipeline, state}",
      "Rows of watched tables that wait for an embedding, or are set aside since the provider refused them.",
      { ofSeveral: "largest" },
    ),
    embeddingOldest: createGauges(
      "postern_embedding_oldest_seconds{pipeline}",
      "For how long the oldest row has waited for an embedding.",
      { ofSeveral: "largest" },
    ),
    loopDelay: createHistograms(
      "postern_event_loop_delay_seconds",
      "How late the event loop was, looked at several times a second.",
    ),
    memory: createGauges(
      "postern_heap_bytes{kind, process}",
      "Memory of the JavaScript heap on the main thread.",
    ),
    residentMemory: createGauges("process_resident_memory_bytes{process}", "Memory that the process holds."),
    cpu: createGauges(
      "process_cpu_seconds_total{process}",
      "CPU time of the process on all of its threads.",
      { type: "counter" },
    ),
    startTime: createGauges("process_start_time_seconds", "When the process started, in seconds since 1970."),
    generations: createGauges(
      "postern_generation_info{of, generation}",
      "1, with what tells the settings and credential files that the server runs with from others.",
      { ofSeveral: "largest" },
    ),
    stateReachable: createGauges(
      "postern_state_reachable",
      "Whether the state that several servers share answers: 1 or 0; none where a server is alone.",
    ),
    buildInfo: createGauges(
      "postern_build_info{version, deno, v8}",
      "1, with what the program was built from.",
    ),
  };
  // a series that begins with 1 shows no change: an alert would not hear of the first that failed
  for (const what of ["configuration", "tokens", "users", "certificate"]) {
    for (const result of ["ok", "failed"]) made.reloads.of(what, result);
  }
  const stage = (server: ServedBy, name: Stage, database = "") => made.stages.of(server, name, database);
  return {
    ...made,
    families: Object.values(made).map(({ family }): MetricFamily => family),
    stage,
    lockouts: made.lockouts.of(),
    loopDelay: made.loopDelay.of(),
    /** Told of each request: its route's pattern and its reply's status. */
    ofRequests: (server: ServedBy) =>
      countEnds((route) => ({
        seconds: made.requestSeconds.of(server, route),
        counter: (code) => made.requests.of(server, route, code),
      })),
    /** Told of each call of a tool, whose name is empty where there is no such tool. */
    toolCalled: countEnds((tool) => ({
      seconds: made.toolSeconds.of(tool),
      counter: (result) => made.toolCalls.of(tool, result),
    })),
    ofDatabase(server: ServedBy, database: string) {
      const ended = (origin: string) =>
        eachOf(statementResults, (result) => made.statements.of(server, database, origin, result));
      return {
        /** Until there was a connection. */
        queue: stage(server, "queue", database),
        /** From then on until the connection was given back. */
        postgresql: stage(server, "postgresql", database),
        /** `own`: Postern's own statements, such as those that read the catalog or search a pipeline's tables. */
        ended: { caller: ended("caller"), own: ended("own") },
        /** Statements that PostgreSQL was asked to stop. */
        stopped: made.stopped.of(server, database),
        rows: made.rows.of(server, database),
        rowBytes: made.rowBytes.of(server, database),
      };
    },
    /**
     * @param pipeline empty for the provider that answers requests in words
     * @param provider kind and model
     */
    ofProvider(server: ServedBy, pipeline: string, provider: string) {
      const labels = [server, pipeline, provider] as const;
      const watched = new DisposableStack();
      const called = countEnds((operation) => ({
        seconds: made.providerSeconds.of(...labels, operation),
        counter: (result) => made.providerCalls.of(...labels, operation, result),
      }));
      const waits = stage(server, "provider");
      return {
        /** Says that the provider does this: its errors that alerts wait for are 0 from now on, so that the first is a change. */
        offers(operation: ProviderOperation): void {
          for (const result of ["ok", "credentials"]) made.providerCalls.of(...labels, operation, result);
        },
        /** @param result `ok`, `cancelled`, why there was no answer, or the kind of the error */
        called(operation: ProviderOperation, result: string, ms: number): void {
          called(operation, result, ms);
          waits.observe(ms);
        },
        retries: made.providerRetries.of(...labels),
        tokens: eachOf(tokenKinds, (kind) => made.providerTokens.of(...labels, kind)),
        /** Asks for the state of its circuit from now on, until the whole is disposed of. */
        watchCircuit(state: () => CircuitState): void {
          const samples = () =>
            circuitStates.map((name): Sample => ({
              labels: [...labels, name],
              value: state() === name ? 1 : 0,
            }));
          watched.defer(made.circuits.collect(samples));
        },
        [Symbol.dispose]: () => watched.dispose(),
      };
    },
    /** Told of each question: its pipeline, and `ok`, `client_left` or the error's code in small letters. */
    queryEnded: countEnds((pipeline) => ({
      seconds: made.querySeconds.of(pipeline),
      counter: (result) => made.queries.of(pipeline, result),
    })),
    ofQueryStages: (pipeline: string): QueryStages =>
      eachOf(queryStages, (stage) => made.queryStages.of(pipeline, stage)),
  };
}

function eachOf<Name extends string, T>(
  names: readonly Name[],
  make: (name: Name) => T,
): Readonly<Record<Name, T>> {
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<Name, T>;
}

/** Counts what has ended, by what it was and how it ended, without making a text for each: two lookups. */
function countEnds(
  countersOf: (what: string) => {
    readonly seconds: Histogram;
    readonly counter: (result: string) => Counter;
  },
): (what: string, result: string | number, ms: number) => void {
  const known = new Map<
    string,
    ReturnType<typeof countersOf> & { counters: Map<string | number, Counter> }
  >();
  return (what, result, ms) => {
    let ofWhat = known.get(what);
    if (ofWhat === undefined) known.set(what, ofWhat = { ...countersOf(what), counters: new Map() });
    let counter = ofWhat.counters.get(result);
    if (counter === undefined) ofWhat.counters.set(result, counter = ofWhat.counter(String(result)));
    counter.add();
    ofWhat.seconds.observe(ms);
  };
}

/**
 * What tells one content of a file from another, where several servers should have the same: for
 * `ServerMetrics.generations`.
 *
 * @param of `configuration`, `tokens` or `users`
 * @param text what the server runs with at the moment; undefined where there is no file
 */
export function readGeneration(of: string, text: () => string | undefined): () => Sample[] {
  let known: { readonly text: string | undefined; readonly generation: string } | undefined;
  return () => {
    const current = text();
    if (known === undefined || known.text !== current) {
      known = { text: current, generation: current === undefined ? "none" : sha256(current).slice(0, 12) };
    }
    return [{ labels: [of, known.generation], value: 1 }];
  };
}
