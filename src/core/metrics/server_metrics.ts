import type { Histogram } from "./histogram.ts";
import {
  type Counter,
  createCounters,
  createGauges,
  createHistograms,
  type MetricFamily,
  type Sample,
} from "./metric_family.ts";

/** The two servers, as labels name them. */
export type ServedBy = "tool_server" | "rag_server";

/** What a request's time goes to, in the order of its way. */
type Stage = "identity" | "guard" | "queue" | "postgresql" | "provider" | "reply";

/** How a statement ended: with rows, or as an error of that kind. */
type StatementResult =
  | "rows"
  | "refused"
  | "failed"
  | "timeout"
  | "cancelled"
  | "unavailable"
  | "overloaded";

/** What one database's statements count. */
export interface StatementMetrics {
  /** Until there was a connection. */
  readonly queue: Histogram;
  /** From then on until the connection was given back. */
  readonly postgresql: Histogram;
  /** `own`: Postern's own statements, such as those that read the catalog or search a pipeline's tables. */
  readonly ended: Readonly<Record<"caller" | "own", Readonly<Record<StatementResult, Counter>>>>;
  /** Statements that PostgreSQL was asked to stop. */
  readonly stopped: Counter;
  readonly rows: Counter;
  readonly rowBytes: Counter;
}

export type ProviderOperation = "complete" | "stream" | "embed" | "rerank";

/** What one configured provider counts. */
export interface ProviderMetrics {
  /** Says that the provider does this: its errors that alerts wait for are 0 from now on, so that the first is a change. */
  offers(operation: ProviderOperation): void;
  /** @param result `ok`, `cancelled`, why there was no answer, or the kind of the error */
  called(operation: ProviderOperation, result: string, ms: number): void;
  readonly retries: Counter;
  readonly tokens: Readonly<Record<"prompt" | "completion" | "cache_creation" | "cache_read", Counter>>;
  /** Asks for the state of its circuit from now on, until the whole is disposed of. */
  watchCircuit(state: () => CircuitState): void;
}

/** What the time of a pipeline's questions goes to. */
export type QueryStages = Readonly<Record<"embedding" | "search" | "rerank" | "answer", Histogram>>;

const circuitStates = ["closed", "open", "half_open"] as const;
export type CircuitState = typeof circuitStates[number];

export type ServerMetrics = ReturnType<typeof createServerMetrics>;

/**
 * Everything that is counted of the servers, from the start of the process on. Values of labels come from the configuration
 * or from fixed lists, never from callers: what callers choose has no bound, and would be read by others.
 */
export function createServerMetrics() {
  const made = {
    requests: createCounters({
      name: "postern_http_requests_total",
      help: "HTTP requests, by route and status.",
      labels: ["server", "route", "code"],
    }),
    requestSeconds: createHistograms({
      name: "postern_http_request_seconds",
      help: "Time until a reply began, by route.",
      labels: ["server", "route"],
    }),
    refusals: createCounters({
      name: "postern_refusals_total",
      help:
        "Requests that were refused before they were read: for their token, the header that says who asks, Host or Origin.",
      labels: ["server", "reason"],
    }),
    quotaRefusals: createCounters({
      name: "postern_quota_refusals_total",
      help: "Calls and statements that were refused because their caller had used up a limit, by the limit.",
      labels: ["limit"],
    }),
    toolCalls: createCounters({
      name: "postern_tool_calls_total",
      help: "Calls of tools, by how they ended; an unknown tool is one without a name.",
      labels: ["tool", "outcome"],
    }),
    toolSeconds: createHistograms({
      name: "postern_tool_call_seconds",
      help: "Time that calls of a tool took.",
      labels: ["tool"],
    }),
    stages: createHistograms({
      name: "postern_stage_seconds",
      help: "Time that requests spent in each stage; queue and postgresql by database.",
      labels: ["server", "stage", "database"],
    }),
    statements: createCounters({
      name: "postern_statements_total",
      help: "Statements, by how they ended; origin says whether a caller sent them or Postern wrote them.",
      labels: ["server", "database", "origin", "outcome"],
    }),
    stopped: createCounters({
      name: "postern_statements_stopped_total",
      help: "Statements that PostgreSQL was asked to cancel: their caller left, or they ran past their time.",
      labels: ["server", "database"],
    }),
    rows: createCounters({
      name: "postern_rows_total",
      help: "Rows that statements returned.",
      labels: ["server", "database"],
    }),
    rowBytes: createCounters({
      name: "postern_row_bytes_total",
      help: "Bytes of these rows, as PostgreSQL sent them.",
      labels: ["server", "database"],
    }),
    connections: createGauges({
      name: "postern_database_connections",
      help: "Connections to databases, by state; PostgreSQL does not end the statement of a stuck one.",
      labels: ["server", "database", "state"],
    }),
    connectionsMax: createGauges({
      name: "postern_database_connections_max",
      help: "Most connections to all databases together.",
      labels: ["server"],
    }),
    waiting: createGauges({
      name: "postern_database_waiting_requests",
      help: "Requests that wait for a connection.",
      labels: ["server", "database"],
    }),
    hostLag: createGauges({
      name: "postern_database_host_lag_seconds",
      help: "How far a host is behind where callers are spread over standbys, by its role.",
      labels: ["server", "database", "host", "role"],
    }),
    logins: createCounters({
      name: "postern_logins_total",
      help: "Logins, by how they ended.",
      labels: ["outcome"],
    }),
    lockouts: createCounters({
      name: "postern_lockouts_total",
      help: "Accounts that were locked after failed logins.",
      labels: [],
    }),
    issuerRefusals: createCounters({
      name: "postern_issuer_token_refusals_total",
      help: "Tokens that an issuer might have written and that were refused, by the reason.",
      labels: ["reason"],
    }),
    issuerRequests: createCounters({
      name: "postern_issuer_requests_total",
      help: "Requests to an issuer, for its keys or about an opaque token, by how they ended.",
      labels: ["what", "outcome"],
    }),
    sessions: createGauges({
      name: "postern_sessions",
      help: "Sessions of users who are logged in.",
      labels: [],
      ofSeveral: "largest",
    }),
    oauthEvents: createCounters({
      name: "postern_oauth_events_total",
      help:
        "What the built-in authorization server did: registrations, grants, refreshes, denials, revocations, " +
        "refused requests for tokens, and codes or refresh tokens that were used twice.",
      labels: ["event"],
    }),
    oauthGrants: createGauges({
      name: "postern_oauth_grants",
      help: "Grants that the built-in authorization server gave and that have not ended.",
      labels: [],
      ofSeveral: "largest",
    }),
    auditLines: createGauges({
      name: "postern_audit_lines_total",
      help: "Lines of the audit trail: written, or lost where no more could wait for its file.",
      labels: ["outcome"],
      type: "counter",
    }),
    auditWaiting: createGauges({
      name: "postern_audit_waiting_lines",
      help: "Lines that wait for the audit trail's file: more than some while it cannot be written.",
      labels: [],
    }),
    reloads: createCounters({
      name: "postern_reloads_total",
      help: "Reloads of files while the server ran, by what was read and whether it could be used.",
      labels: ["what", "outcome"],
    }),
    providerCalls: createCounters({
      name: "postern_provider_calls_total",
      help:
        "Calls of providers, each with its retries, by how they ended; pipeline is empty for requests in words.",
      labels: ["server", "pipeline", "provider", "operation", "outcome"],
    }),
    providerSeconds: createHistograms({
      name: "postern_provider_call_seconds",
      help: "Time that calls of providers took, with their retries; of a stream until its end.",
      labels: ["server", "pipeline", "provider", "operation"],
    }),
    providerRetries: createCounters({
      name: "postern_provider_retries_total",
      help: "Further attempts of calls of providers.",
      labels: ["server", "pipeline", "provider"],
    }),
    providerTokens: createCounters({
      name: "postern_provider_tokens_total",
      help: "Tokens, as providers count them; prompt includes those of the cached parts.",
      labels: ["server", "pipeline", "provider", "kind"],
    }),
    circuits: createGauges({
      name: "postern_provider_circuits",
      help:
        "Circuit breakers of providers in each state; an open one keeps requests away from a provider that fails.",
      labels: ["server", "pipeline", "provider", "state"],
    }),
    queries: createCounters({
      name: "postern_queries_total",
      help: "Questions to pipelines, by how they ended.",
      labels: ["pipeline", "outcome"],
    }),
    querySeconds: createHistograms({
      name: "postern_query_seconds",
      help: "Time until the end of an answer.",
      labels: ["pipeline"],
    }),
    queryStages: createHistograms({
      name: "postern_query_stage_seconds",
      help: "Time that questions spent in each stage of their answer.",
      labels: ["pipeline", "stage"],
    }),
    loopDelay: createHistograms({
      name: "postern_event_loop_delay_seconds",
      help: "How late the event loop was, looked at several times a second.",
      labels: [],
    }),
    memory: createGauges({
      name: "postern_heap_bytes",
      help: "Memory of the JavaScript heap on the main thread.",
      labels: ["kind", "process"],
    }),
    residentMemory: createGauges({
      name: "process_resident_memory_bytes",
      help: "Memory that the process holds.",
      labels: ["process"],
    }),
    cpu: createGauges({
      name: "process_cpu_seconds_total",
      help: "CPU time of the process on all of its threads.",
      labels: ["process"],
      type: "counter",
    }),
    startTime: createGauges({
      name: "process_start_time_seconds",
      help: "When the process started, in seconds since 1970.",
      labels: [],
    }),
    generations: createGauges({
      name: "postern_generation_info",
      help: "1, with what tells the settings and credential files that the server runs with from others.",
      labels: ["of", "generation"],
      ofSeveral: "largest",
    }),
    buildInfo: createGauges({
      name: "postern_build_info",
      help: "1, with what the program was built from.",
      labels: ["version", "deno", "v8"],
    }),
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
    ofDatabase(server: ServedBy, database: string): StatementMetrics {
      const ended = (origin: string) => {
        const result = (name: StatementResult) => made.statements.of(server, database, origin, name);
        return {
          rows: result("rows"),
          refused: result("refused"),
          failed: result("failed"),
          timeout: result("timeout"),
          cancelled: result("cancelled"),
          unavailable: result("unavailable"),
          overloaded: result("overloaded"),
        };
      };
      return {
        queue: stage(server, "queue", database),
        postgresql: stage(server, "postgresql", database),
        ended: { caller: ended("caller"), own: ended("own") },
        stopped: made.stopped.of(server, database),
        rows: made.rows.of(server, database),
        rowBytes: made.rowBytes.of(server, database),
      };
    },
    /**
     * @param pipeline empty for the provider that answers requests in words
     * @param provider kind and model
     */
    ofProvider(server: ServedBy, pipeline: string, provider: string): ProviderMetrics & Disposable {
      const labels = [server, pipeline, provider] as const;
      const watched = new DisposableStack();
      const tokens = (kind: string) => made.providerTokens.of(...labels, kind);
      const called = countEnds((operation) => ({
        seconds: made.providerSeconds.of(...labels, operation),
        counter: (result) => made.providerCalls.of(...labels, operation, result),
      }));
      const waits = stage(server, "provider");
      return {
        offers(operation) {
          for (const result of ["ok", "credentials"]) made.providerCalls.of(...labels, operation, result);
        },
        called(operation, result, ms) {
          called(operation, result, ms);
          waits.observe(ms);
        },
        retries: made.providerRetries.of(...labels),
        tokens: {
          prompt: tokens("prompt"),
          completion: tokens("completion"),
          cache_creation: tokens("cache_creation"),
          cache_read: tokens("cache_read"),
        },
        watchCircuit(state) {
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
    ofQueryStages(pipeline: string): QueryStages {
      const stage = (name: string) => made.queryStages.of(pipeline, name);
      return {
        embedding: stage("embedding"),
        search: stage("search"),
        rerank: stage("rerank"),
        answer: stage("answer"),
      };
    },
  };
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
