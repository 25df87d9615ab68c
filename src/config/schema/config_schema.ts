import { z } from "zod";
import { logFormats, logLevels } from "../../core/logger.ts";
import { withAliases } from "./pgedge_aliases.ts";
import { builtins } from "./builtins.ts";
import { databases, state } from "./databases.ts";
import {
  address,
  callers,
  choice,
  duration,
  filePath,
  fraction,
  headerMap,
  integer,
  list,
  origin,
  processCount,
  section,
  size,
  text,
  toggle,
  webAddress,
} from "./field_types.ts";
import { http, server } from "./servers.ts";
import { identity } from "./identity.ts";
import { apiKeys, defaults, embedding, llm } from "./providers.ts";
import { pipelines } from "./pipelines.ts";

/** How much one caller may use, or all of them together. */
const numbers = () =>
  section({
    calls_per_minute: integer(0).optional().describe("Calls of tools and questions to pipelines a minute"),
    statements_per_minute: integer(0).optional().describe(
      "Statements a minute, those that a model writes for a caller among them",
    ),
    calls_at_once: integer(1).optional().describe("Calls at once; more wait, as `admission` allows"),
    rows_per_day: integer(0).optional().describe("Rows of these statements a day (UTC)"),
    bytes_per_day: size().optional().describe("Bytes of these rows a day (UTC), such as 1 GiB"),
    provider_tokens_per_day: integer(0).optional().describe(
      "Tokens of providers a day (UTC), of prompts and answers",
    ),
  });

const byName = (what: string) =>
  z.record(z.string(), numbers(), { error: `expected a mapping of ${what} to limits` }).optional();

/** How much callers may use, over both servers together. */
const limits = section({
  default: numbers().optional(),
  all: numbers().optional(),
  principals: byName("callers").describe(
    "Limits of single callers, by token id, username, an issuer's subject, or `ISSUER#SUBJECT`; a number here counts before those of groups and of `default`",
  ),
  groups: byName("groups").describe(
    "Limits of each caller in a group, by the group's name; of several groups the largest number counts, before that of `default`",
  ),
});

/** The audit trail. */
const audit = section({
  file: filePath().optional()
    .describe(
      "File for the audit trail: a line per login, grant of OAuth, refusal, lockout, reload, administrator's operation, tool call and question to a pipeline; without it, no trail",
    ),
  texts: toggle().prefault(false).describe(
    "Have the words of questions to pipelines in the trail, beside their SHA-256",
  ),
  required: toggle().prefault(false).describe(
    "Answer no call before the disk has its line, and refuse calls while the file cannot be written",
  ),
});

/** What calls that wait for their share are refused by. */
const admission = section({
  max_waiting: integer(0, 1_000_000).prefault(1_000)
    .describe("Calls of one caller that may wait for a database's connections or a pipeline"),
  max_wait: duration().prefault("30s")
    .describe(
      "How long a call may wait; one that is expected to wait longer is refused at once; 0s: no limit",
    ),
});

/** What goes to standard error. */
const log = section({
  level: choice(...logLevels).prefault("info").describe("Lowest level that is logged"),
  format: choice(...logFormats).prefault("text").describe("Lines of text, or one JSON object a line"),
  access: toggle().prefault(false).describe(
    "A line for each HTTP request: method, route, status, bytes, time, caller and the id of X-Request-Id",
  ),
});

/** What a monitoring system reads. */
const metrics = section({
  address: address().optional().describe(
    "Address for `GET /metrics` in Prometheus's format, which needs no token; without it, none",
  ),
  ingest_folder: filePath().optional().describe(
    "Folder where `-ingest` leaves what it did, for the textfile collector of Prometheus's node_exporter",
  ),
});

/** The web page on the server's own port. */
const consolePage = section({
  enabled: toggle().optional().describe(
    "Serve the console at /console/, on the tool server's port, else the RAG server's; without it, where the address is a loopback address, and in the demo",
  ),
  administrators: callers().prefault([]).describe(
    "Users, and `group:NAME` for groups, who see all calls and how the server is; where nobody is asked for a token, everyone does",
  ),
});

/** What goes to a collector of OpenTelemetry's. */
const traces = section({
  endpoint: webAddress().optional().describe(
    "Address of a collector that takes OTLP over HTTP, without or with its /v1/traces; without it, no traces",
  ),
  headers: headerMap().optional().describe("HTTP headers sent to the collector"),
  ca_file: filePath().optional().describe(
    "Certificate authorities that may have signed the collector's certificate, PEM",
  ),
  service_name: text().prefault("postern").describe("Name of this service in traces"),
  sample_ratio: fraction().prefault(0.05).describe(
    "Share of the calls to trace, from 0 to 1; a caller that sends `traceparent` decides for its own calls",
  ),
  follow_callers: toggle().prefault(true).describe(
    "Heed `traceparent`; without it, `sample_ratio` alone decides what is traced",
  ),
  include_texts: toggle().prefault(false).describe(
    "Have statements, tools' arguments, prompts and answers in traces",
  ),
  propagate_to: list(origin()).prefault([]).describe(
    "Origins of providers that get `traceparent`, such as a gateway of your own; others do not",
  ),
});

/** The whole file. Names are the file's own; parsed durations are in milliseconds and parsed sizes in bytes. */
export const configSchema = section({
  http: http.prefault({}),
  processes: processCount().prefault(1).describe(
    "Processes that share the servers' ports and all bounds, from 1 to 64; auto: one for each processor; more than 1 needs Linux",
  ),
  databases: databases.prefault([]),
  max_connections: integer(1, 100_000).prefault(100)
    .describe("Most connections to all databases together; at the limit the one that is idle longest closes"),
  admission: admission.prefault({}),
  limits: limits.prefault({}),
  log: log.prefault({}),
  audit: audit.prefault({}),
  metrics: metrics.prefault({}),
  traces: traces.prefault({}),
  console: consolePage.prefault({}),
  data_dir: filePath().optional().describe(
    "Folder for data that a restart keeps, such as sessions and remembered requests",
  ),
  state: state.prefault({}),
  custom_definitions_path: filePath().optional().describe(
    "File of your own tools, prompts, resources and verified questions, YAML or JSON",
  ),
  llm: llm.prefault({}),
  embedding: embedding.optional(),
  models: section({
    library_path: filePath().optional().describe(
      "Folder of the npm package onnxruntime-node, whose library runs models of the kind onnx; without it, the folder onnxruntime-node beside the executable, else WebAssembly",
    ),
  }).prefault({}),
  knowledgebase: section({
    enabled: toggle().optional().describe(
      "Offer search_knowledgebase, if a pipeline is named; without it, true",
    ),
    pipeline: text().optional().describe(
      "Pipeline whose documents search_knowledgebase searches; it needs allow_include_sources",
    ),
  }).optional(),
  builtins: builtins.prefault({}),
  server: server.prefault({}),
  identity: identity.prefault({}),
  api_keys: apiKeys.optional(),
  defaults: defaults.optional(),
  pipelines: pipelines.prefault([]),
});

export type ParsedConfig = z.output<typeof configSchema>;

/**
 * What a configuration says before it is validated, by the schema's names. A value may be of any other type than it should be:
 * the schema's own faults say so.
 */
export type Written = Unchecked<z.input<typeof configSchema>>;

type Unchecked<T> = T extends readonly (infer Entry)[] ? readonly (Unchecked<Entry> | undefined)[]
  : T extends object ? { readonly [Key in keyof T]?: Unchecked<NonNullable<T[Key]>> | undefined }
  : T;

/** JSON Schema of the configuration file, for editors that complete and check it. */
export function configJsonSchema(): Readonly<Record<string, unknown>> {
  const toJson = (schema: z.core.$ZodType) => z.toJSONSchema(schema, { io: "input" });
  return withAliases({ title: "Postern's configuration file", ...toJson(configSchema) }, toJson);
}
