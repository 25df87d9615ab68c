import { addressesCollide, isLoopback, parseListenAddress } from "../core/address.ts";
import type { Fault, Report } from "./fault.ts";
import { layered, type PipelineConfig, tableOf } from "./pipeline_settings.ts";
import type { Locate } from "./schema/schema_faults.ts";
import { checkClaims, checkIdentity, checkRowSecurity } from "./row_security_faults.ts";
import { detailTypes } from "../rag_server/ingest/metadata_kinds.ts";
import { builtinTools } from "../tool_server/builtin_kinds.ts";
import {
  formatPath,
  isMap,
  listOf,
  type SettingPath,
  valueAt,
  type ValueMap,
} from "../core/yaml/value_tree.ts";
import type { AuthConfig } from "./schema/auth.ts";
import type { ParsedConfig } from "./schema/config_schema.ts";
import { resolve, sep } from "node:path";
import { didYouMean } from "../core/text/near_name.ts";

/** What the command line says beyond settings. */
export interface RunContext {
  /** `-allow-insecure` was given. */
  readonly allowInsecure: boolean;
  /** The RAG server runs too. */
  readonly rag: boolean;
  /** `-token-file` or `-user-file` lead an administrator's operation to other files than a server's. */
  readonly hasOtherFiles: boolean;
  readonly os: typeof Deno.build.os;
}

/**
 * Faults in how settings stand to each other. They are looked for in what was written, not in what was parsed, so
 * that they are reported together with the schema's own.
 */
export function ruleFaults(tree: ValueMap, context: RunContext, locate: Locate): Fault[] {
  const faults: Fault[] = [];
  const report: Report = (path, message) => faults.push({ path: formatPath(path), ...locate(path), message });
  for (const part of ["databases", "pipelines"]) checkNames(tree[part], part, report);
  for (const [index, database] of listOf(tree["databases"]).entries()) {
    checkConnection(database, ["databases", index], report);
  }
  for (const part of ["databases", "pipelines"]) {
    for (const [index, entry] of listOf(tree[part]).entries()) checkRowSecurity(entry, [part, index], report);
  }
  if (valueAt(tree, ["audit", "required"]) === true && valueAt(tree, ["audit", "file"]) === undefined) {
    report(["audit", "required"], "needs audit.file: no call could be answered without its line");
  }
  checkState(tree, report);
  checkClaims(tree, report);
  checkIdentity(tree, report);
  checkTls(tree, ["http", "tls"], report);
  checkTls(tree, ["server", "tls"], report);
  checkListeners(tree, context, report);
  checkMetricsAddress(tree, context, report);
  for (const server of ["http", "server"]) checkIdentityProvider(tree, server, report);
  checkCompletion(tree["llm"], report);
  checkEmbedding(tree["embedding"], report);
  checkPipelines(tree, report);
  checkKnowledgebase(tree, report);
  return faults;
}

/** The state must not be where callers' statements read it, nor in a database of one process. */
function checkState(tree: ValueMap, report: Report): void {
  const state = valueAt(tree, ["state"]);
  const name = valueAt(state, ["database"]);
  const isApart = valueAt(state, ["host"]) !== undefined;
  if (state !== undefined) checkConnection(state, ["state"], report);
  if (name === undefined) {
    if (isApart) report(["state", "database"], "is required where state.host is given");
    return;
  }
  if (typeof name !== "string") return;
  const user = valueAt(state, ["user"]) ?? "postern_state";
  const isSame = "is the role of that database too: callers' statements could read the state";
  if (isApart) {
    const place = (entry: unknown, database: unknown) =>
      [valueAt(entry, ["host"]), valueAt(entry, ["port"]) ?? 5432, database].join(" ");
    const isCallers = listOf(tree["databases"]).some((each) =>
      place(each, valueAt(each, ["database"]) ?? "postgres") === place(state, name) &&
      (valueAt(each, ["user"]) ?? "postgres") === user
    );
    if (isCallers) report(["state", "user"], isSame);
    return;
  }
  if (valueAt(state, ["port"]) !== undefined) {
    report(["state", "port"], "is the port of state.host, which is not given");
  }
  const database = listOf(tree["databases"]).find((each) => valueAt(each, ["name"]) === name);
  if (database === undefined) {
    report(["state", "database"], "is none of databases; for another database give state.host too");
  } else if (valueAt(database, ["embedded"]) !== undefined) {
    report(["state", "database"], "is an embedded database, which one process alone can use");
  } else if (user === (valueAt(database, ["user"]) ?? "postgres")) report(["state", "user"], isSame);
}

function checkNames(entries: unknown, part: string, report: Report): void {
  const firstIndexes = new Map<string, number>();
  for (const [index, entry] of listOf(entries).entries()) {
    const name = valueAt(entry, ["name"]);
    if (typeof name !== "string") continue;
    const first = firstIndexes.get(name);
    if (first === undefined) firstIndexes.set(name, index);
    else report([part, index, "name"], `${part}[${first}] already has the name ${JSON.stringify(name)}`);
  }
}

const passwordSettings = ["password", "password_file", "password_command", "password_from"];

/** Settings of a connection that cannot be given together. */
const exclusive: readonly (readonly [string, string])[] = [
  ["hosts", "host"],
  ["hosts", "port"],
  ["embedded", "host"],
  ["embedded", "port"],
  ["embedded", "hosts"],
  ...passwordSettings.flatMap((one, at) =>
    passwordSettings.slice(at + 1).map((other) => [one, other] as const)
  ),
];

/** What the first of each needs. */
const together: readonly (readonly [string, string])[] = [
  ["sslcert", "sslkey"],
  ["sslkey", "sslcert"],
  ["password_from", "aws_region"],
  ["password_lifetime", "password_command"],
];

function checkIdentityProvider(tree: ValueMap, server: string, report: Report): void {
  const path = [server, "auth", "identity_provider"];
  if (!isMap(valueAt(tree, path))) return;
  // a client would be sent to the address that the proxy knows
  if (
    valueAt(tree, [server, "client_ip", "header"]) !== undefined &&
    valueAt(tree, [server, "resource_url"]) === undefined
  ) {
    report([server, "resource_url"], `is required behind a proxy where ${formatPath(path)} is given`);
  }
  const scopes = valueAt(tree, [...path, "scopes_by_tool"]);
  for (const tool of Object.keys(isMap(scopes) ? scopes : {})) {
    const fault = server === "server"
      ? "has no effect: the RAG server has no tools"
      // one that is misspelt would need no scope; what a definitions file names is looked at where it is read
      : tree["custom_definitions_path"] !== undefined || builtinTools.some((name) => name === tool)
      ? undefined
      : `there is no tool of that name${didYouMean(tool, builtinTools)}`;
    if (fault !== undefined) report([...path, "scopes_by_tool", tool], fault);
  }
}

function checkConnection(connection: unknown, path: SettingPath, report: Report): void {
  if (!isMap(connection)) return;
  const isGiven = (key: string) => connection[key] !== undefined;
  for (const [one, other] of exclusive) {
    if (isGiven(one) && isGiven(other)) report([...path, other], `cannot be given together with ${one}`);
  }
  for (const [one, other] of together) {
    if (isGiven(one) && !isGiven(other)) report([...path, other], `is required where ${one} is given`);
  }
  if (isGiven("password_from") && !/^(?:require|verify-)/.test(String(connection["sslmode"]))) {
    report(
      [...path, "sslmode"],
      "expected require, verify-ca or verify-full, as password_from sends a token",
    );
  }
  const wanted = connection["target_session_attrs"] ?? (path[0] === "pipelines" ? "prefer-standby" : "any");
  if (isGiven("max_replica_lag") && (listOf(connection["hosts"]).length < 2 || wanted !== "prefer-standby")) {
    report([...path, "max_replica_lag"], "needs several hosts, and target_session_attrs: prefer-standby");
  }
}

function checkTls(tree: ValueMap, path: SettingPath, report: Report): void {
  if (valueAt(tree, [...path, "enabled"]) !== true) return;
  for (const key of ["cert_file", "key_file"]) {
    if (valueAt(tree, [...path, key]) === undefined) {
      report([...path, key], "is required where TLS is enabled");
    }
  }
}

/** No default would stay right, since models come and go; Anthropic's is the one that files for pgEdge's server leave out. */
function checkCompletion(llm: unknown, report: Report): void {
  const provider = valueAt(llm, ["provider"]);
  if (valueAt(llm, ["enabled"]) === false) return;
  // the schema says of local what to do instead
  if (provider === undefined || provider === "anthropic" || provider === "local") return;
  if (valueAt(llm, ["model"]) === undefined) report(["llm", "model"], `is required for ${provider}`);
}

function checkEmbedding(embedding: unknown, report: Report): void {
  const enabled = valueAt(embedding, ["enabled"]);
  const provider = valueAt(embedding, ["provider"]);
  if (enabled === false) return;
  if (provider === undefined) {
    if (enabled === true) report(["embedding", "provider"], "is required where embedding is enabled");
  } else checkModel(embedding, ["embedding"], report);
}

function checkKnowledgebase(tree: ValueMap, report: Report): void {
  const path = ["knowledgebase", "pipeline"];
  const name = valueAt(tree, path);
  if (name === undefined || valueAt(tree, ["knowledgebase", "enabled"]) === false) return;
  const pipeline = listOf(tree["pipelines"]).find((entry) => valueAt(entry, ["name"]) === name);
  if (pipeline === undefined) report(path, "there is no pipeline of that name");
  else if (valueAt(pipeline, ["allow_include_sources"]) !== true) {
    report(path, "needs a pipeline with allow_include_sources: true, as its documents are shown");
  }
}

function checkListeners(tree: ValueMap, context: RunContext, report: Report): void {
  if (valueAt(tree, ["http", "enabled"]) !== true) return;
  const written = valueAt(tree, ["http", "address"]) ?? ":8080";
  const address = typeof written === "string" ? parseListenAddress(written) : undefined;
  if (address === undefined) return;
  if (
    valueAt(tree, ["http", "auth", "enabled"]) === false && !isLoopback(address.host) &&
    !context.allowInsecure
  ) {
    const reason = `needs -allow-insecure: ${written} can be reached from other machines`;
    report(["http", "auth", "enabled"], `serving without authentication ${reason}`);
  }
  const rag = parseListenAddress(String(valueAt(tree, ["server", "address"]) ?? "0.0.0.0:8080"));
  if (context.rag && rag !== undefined && addressesCollide(address, rag)) {
    report(
      ["server", "address"],
      `the RAG server and http.address would both listen on port ${address.port}`,
    );
  }
}

function checkMetricsAddress(tree: ValueMap, context: RunContext, report: Report): void {
  const path = ["metrics", "address"];
  const address = parseListenAddress(String(valueAt(tree, path) ?? ""));
  if (address === undefined) return;
  const servers = [
    ...(valueAt(tree, ["http", "enabled"]) === true ? [[["http", "address"], ":8080"] as const] : []),
    ...(context.rag ? [[["server", "address"], "0.0.0.0:8080"] as const] : []),
  ];
  for (const [server, byDefault] of servers) {
    const other = parseListenAddress(String(valueAt(tree, server) ?? byDefault));
    if (other === undefined || !addressesCollide(address, other)) continue;
    report(path, `needs a port of its own: ${formatPath(server)} listens on port ${address.port}`);
  }
}

/** What a pipeline lacks, `defaults` included, and what cannot be together in it. */
function checkPipelines(tree: ValueMap, report: Report): void {
  for (const [index, pipeline] of listOf(tree["pipelines"]).entries()) {
    if (!isMap(pipeline)) continue;
    const path = ["pipelines", index] as const;
    for (const part of ["embedding_llm", "rag_llm"]) checkProvider(tree, pipeline, [...path, part], report);
    const database = pipeline["database"];
    checkConnection(database, [...path, "database"], report);
    if (
      valueAt(database, ["hosts"]) === undefined &&
      valueAt(database, ["target_session_attrs"]) !== undefined
    ) {
      report(
        [...path, "database", "target_session_attrs"],
        "needs hosts: with one server there is nothing to choose",
      );
    }
    checkModel(pipeline["rerank"], [...path, "rerank"], report);
    const [most, overlap] = ["max_tokens", "overlap_tokens"].map((name) =>
      valueAt(pipeline, ["chunks", name])
    );
    if (Number(overlap) > Number(most) / 2) {
      report([...path, "chunks", "overlap_tokens"], `is more than half of max_tokens, which is ${most}`);
    }
    const table = valueAt(pipeline, ["tables", 0]);
    const own = ["text_column", "vector_column", "id_column"].map((name) => valueAt(table, [name]));
    for (const column of Object.keys(pipeline["metadata"] ?? {})) {
      if (![...own, "id", "metadata", ...Object.keys(detailTypes)].includes(column)) continue;
      report([...path, "metadata", column], "is a column that -ingest fills itself; name another one");
    }
    const ocrCommand = listOf(pipeline["ocr_command"]);
    if (ocrCommand.length > 0 && !ocrCommand.slice(1).some((part) => String(part).includes("{page}"))) {
      report([...path, "ocr_command"], "needs {page}, the number of the page to read, in an argument");
    }
    checkReembed(tree, pipeline, [...path, "reembed"], report);
  }
}

function checkProvider(tree: ValueMap, pipeline: ValueMap, path: SettingPath, report: Report): void {
  const part = String(path.at(-1));
  const [own, base] = [pipeline[part], valueAt(tree, ["defaults", part])].map((value) =>
    isMap(value) ? value as { provider?: string } : undefined
  );
  const settings = layered(own, base);
  if (settings.provider === undefined) {
    report(path, `a provider is required, here or in defaults.${part}`);
    return;
  }
  checkModel(settings, path, report);
  const fallback = valueAt(settings, ["fallback"]);
  for (const [index, entry] of listOf(fallback).entries()) {
    checkModel(entry, [...path, "fallback", index], report);
  }
}

/** A column has vectors of one model: that of the new one is another in each table. */
function checkReembed(tree: ValueMap, pipeline: ValueMap, path: SettingPath, report: Report): void {
  const reembed = pipeline["reembed"];
  if (!isMap(reembed)) return;
  const [base, own, next] = [
    valueAt(tree, ["defaults", "embedding_llm"]),
    pipeline["embedding_llm"],
    reembed["embedding_llm"],
  ].map((value) => isMap(value) ? value as { provider?: string; model?: string } : {});
  const used = layered(own, base);
  const wanted = layered(next, used);
  checkModel(wanted, [...path, "embedding_llm"], report);
  if (wanted.provider === used.provider && wanted.model === used.model) {
    report([...path, "embedding_llm"], "is the pipeline's own model: expected another provider or model");
  }
  const taken = listOf(pipeline["tables"]).map((table) => valueAt(table, ["vector_column"]));
  if (taken.includes(reembed["vector_column"])) {
    report([...path, "vector_column"], "is a table's own vector_column: expected a new one");
  }
}

function checkModel(section: unknown, path: SettingPath, report: Report): void {
  const provider = valueAt(section, ["provider"]);
  if (typeof provider !== "string" || provider === "local") return;
  const named = provider === "onnx" ? "model_path" : "model";
  if (valueAt(section, [named]) === undefined) report([...path, named], `is required for ${provider}`);
}

type Servers = Pick<ParsedConfig, "data_dir" | "http" | "server" | "state">;

/**
 * Faults in who gets in, and of accounts that both servers have. They are looked for in settings that are valid each, with
 * absolute paths: what `server.auth` leaves out is as in `http.auth`, and two paths may mean one file.
 */
export function authFaults(servers: Servers, context: RunContext, locate: Locate): Fault[] {
  const faults: Fault[] = [];
  const report: Report = (path, message) => faults.push({ path: formatPath(path), ...locate(path), message });
  const { issuer } = servers.http.auth.oauth;
  checkIssuerLogin(servers.http.auth.oauth, report);
  checkMethods("http", servers.http.auth, issuer, report);
  checkMethods("server", servers.server.auth, issuer, report);
  checkOauth(servers, context, report);
  if (!context.hasOtherFiles) checkSharedAccounts(servers, report);
  return faults;
}

function checkMethods(
  server: "http" | "server",
  { enabled, methods, identity_provider: provider }: AuthConfig,
  issuer: string | undefined,
  report: Report,
): void {
  if (!enabled || methods.api_tokens || methods.password_login || provider !== undefined) return;
  if (methods.oauth && issuer !== undefined) return;
  report(
    [server, "auth", "methods"],
    "lets nobody in: expected api_tokens or password_login, oauth with http.auth.oauth.issuer, or identity_provider",
  );
}

function checkOauth(servers: Servers, { rag }: RunContext, report: Report): void {
  const { http: { enabled, auth }, data_dir, state } = servers;
  const { issuer } = auth.oauth;
  if (!enabled || !auth.enabled || !auth.methods.oauth || issuer === undefined) return;
  if (data_dir === undefined && state.database === undefined) {
    report(["data_dir"], "is required where http.auth.oauth.issuer is given: it keeps clients and grants");
  }
  if (rag) checkRagResource(servers, issuer, report);
}

function checkIssuerLogin({ issuer, login }: Servers["http"]["auth"]["oauth"], report: Report): void {
  if (login === undefined) return;
  const path = ["http", "auth", "oauth", "login"];
  if (issuer === undefined) report(path, "has no effect without http.auth.oauth.issuer");
  const { client_secret_file: secret, private_key_file: key } = login;
  if ((secret === undefined) === (key === undefined)) {
    report([...path, "client_secret_file"], "expected either this or private_key_file");
  }
  if (login.scopes?.includes("openid") === false) report([...path, "scopes"], "expected openid among them");
  if (/^https:\/\/accounts\.google\.com\/?$/.test(login.issuer) && login.allowed_domains === undefined) {
    report([...path, "allowed_domains"], "is required with Google: anybody can have an account there");
  }
}

/** What tokens of the built-in authorization server are for, where the RAG server takes them. */
function checkRagResource({ http, server }: Servers, issuer: string, report: Report): void {
  const { auth, resource_url: resource } = server;
  if (!auth.enabled || !auth.methods.oauth || auth.user_file !== http.auth.user_file) return;
  const path = ["server", "resource_url"];
  const given = "where http.auth.oauth.issuer is given";
  if (resource === undefined) {
    if (server.client_ip.header !== undefined) report(path, `is required behind a proxy ${given}`);
    else if (server.address.port === 0) report(path, `is required ${given} and server.address has port 0`);
    return;
  }
  const withoutSlash = (url: string) => url.replace(/\/$/, "");
  const ofTools = http.resource_url ?? `${withoutSlash(issuer)}/mcp/v1`;
  if (withoutSlash(ofTools) === withoutSlash(resource)) {
    report(path, "must differ from the tool server's: a token for one server is refused by the other");
  }
}

/** Settings that count for all who use the same accounts: failed logins count for both servers together. */
const accountSettings = [
  "session_lifetime",
  "password_min_length",
  "rate_limit_window_minutes",
  "rate_limit_max_attempts",
  "max_failed_attempts_before_lockout",
] as const;

function checkSharedAccounts({ http, server }: Servers, report: Report): void {
  const differs = (key: keyof AuthConfig) => server.auth[key] !== http.auth[key];
  // each pair of files has its own sessions and counts of failed logins
  if (!server.auth.enabled || differs("user_file") || differs("token_file")) return;
  for (const key of accountSettings.filter(differs)) {
    report(
      ["server", "auth", key],
      `cannot differ from http.auth.${key} while both have the same token_file and user_file`,
    );
  }
}

interface PlacedSource {
  readonly path: SettingPath;
  readonly pipeline: number;
  readonly name: string;
  readonly folder: string;
}

/**
 * Sources of pipelines that have no name, or one that names another folder too, and folders that lie in each other: within
 * a pipeline, and among those that write to the same table.
 */
export function sourceFaults(pipelines: readonly PipelineConfig[], locate: Locate): Fault[] {
  const faults: Fault[] = [];
  const report: Report = (path, message) => faults.push({ path: formatPath(path), ...locate(path), message });
  const placed = pipelines.map((pipeline, at) => ({
    table: tableOf(pipeline),
    sources: placedIn(pipeline, at),
  }));
  for (const group of Map.groupBy(placed, ({ table }) => table).values()) {
    const sources = group.flatMap(({ sources }) => sources);
    for (const [index, source] of sources.entries()) {
      if (source.name === "") {
        report([...source.path, "name"], "is required where the path ends with no name");
      }
      for (const other of sources.slice(0, index)) checkPair(other, source, report);
    }
  }
  return faults;
}

function placedIn({ sources = [] }: PipelineConfig, pipeline: number): PlacedSource[] {
  return sources.map(({ name, path }, index) => ({
    path: ["pipelines", pipeline, "sources", index],
    pipeline,
    name,
    folder: resolve(path),
  }));
}

function checkPair(first: PlacedSource, second: PlacedSource, report: Report): void {
  const isOtherPipeline = first.pipeline !== second.pipeline;
  // both pipelines may ingest it
  if (isOtherPipeline && first.name === second.name && first.folder === second.folder) return;
  const [where, table] = [formatPath(first.path), isOtherPipeline ? ", for the same table" : ""];
  if (first.name === second.name) {
    return report(
      [...second.path, "name"],
      `${where} already has the name ${JSON.stringify(second.name)}${table}`,
    );
  }
  if (!isInside(second.folder, first.folder) && !isInside(first.folder, second.folder)) return;
  report([...second.path, "path"], `this folder and that of ${where} have the same files${table}`);
}

function isInside(folder: string, other: string): boolean {
  return folder === other || folder.startsWith(other.endsWith(sep) ? other : other + sep);
}
