import { addressesCollide, isLoopback, parseListenAddress } from "../core/address.ts";
import type { Fault, Report } from "./fault.ts";
import { layered, modelName, type PipelineConfig, tableOf } from "./pipeline_settings.ts";
import type { Locate } from "./schema/schema_faults.ts";
import { checkClaims, checkIdentity, checkRowSecurity } from "./row_security_faults.ts";
import { detailTypes } from "../rag_server/ingest/metadata_kinds.ts";
import { builtinTools } from "../tool_server/builtin_kinds.ts";
import {
  formatPath,
  isMap,
  listOf,
  mapOf,
  type SettingPath,
  type ValueMap,
} from "../core/yaml/value_tree.ts";
import type { AuthConfig } from "./schema/auth.ts";
import type { ParsedConfig, Written } from "./schema/config_schema.ts";
import { resolve, sep } from "node:path";
import { didYouMean } from "../core/text/near_name.ts";

type WrittenDatabase = NonNullable<Written["databases"]>[number] | undefined;
type Named = { readonly name?: string | undefined } | undefined;
type WrittenPipeline = NonNullable<Written["pipelines"]>[number];
type WrittenProvider = ValueMap & { readonly provider?: string };

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
export function ruleFaults(written: ValueMap, context: RunContext, locate: Locate): Fault[] {
  const faults: Fault[] = [];
  const report: Report = (path, message) => faults.push({ path: formatPath(path), ...locate(path), message });
  const tree: Written = written;
  const { databases, pipelines, state, audit, metrics } = tree;
  for (const part of ["databases", "pipelines"] as const) {
    const entries = entriesOf<Named>(tree[part]);
    checkNames(entries, part, report);
    for (const [index, entry] of entries.entries()) checkRowSecurity(entry, [part, index], report);
  }
  for (const [index, database] of entriesOf(databases).entries()) {
    checkConnection(database, ["databases", index], report);
  }
  if (audit?.required === true && audit.file === undefined) {
    report(["audit", "required"], "needs audit.file: no call could be answered without its line");
  }
  if (state !== undefined) checkConnection(state, ["state"], report);
  checkState(tree, report);
  checkClaims(tree, report);
  checkIdentity(tree, report);
  checkListeners(tree, context, report);
  if (metrics?.address !== undefined) checkMetricsAddress(tree, String(metrics.address), context, report);
  for (const server of ["http", "server"] as const) {
    checkTls(tree, server, report);
    checkIdentityProvider(tree, server, report);
  }
  checkEmbedding(tree, report);
  for (const [index, pipeline] of entriesOf(pipelines).entries()) {
    if (isMap(pipeline)) checkPipeline(pipeline, ["pipelines", index], tree, report);
  }
  checkKnowledgebase(tree, report);
  return faults;
}

/** The entries of a list; none of what is no list. */
function entriesOf<Entry>(list: readonly Entry[] | undefined): readonly Entry[] {
  return Array.isArray(list) ? list : [];
}

/** The state must not be where callers' statements read it, nor in a database of one process. */
function checkState({ state, databases }: Written, report: Report): void {
  const isApart = state?.host !== undefined;
  const name = state?.database;
  if (name === undefined) {
    if (isApart) report(["state", "database"], "is required where state.host is given");
    return;
  }
  if (typeof name !== "string") return;
  const user = state?.user ?? "postern_state";
  const isSame = "is the role of that database too: callers' statements could read the state";
  const isUserOf = (entry: WrittenDatabase) => (entry?.user ?? "postgres") === user;
  if (isApart) {
    const place = (entry: Written["state"], database: unknown) =>
      [entry?.host, entry?.port ?? 5432, database].join(" ");
    const isCallers = entriesOf(databases).some((each) =>
      place(each, each?.database ?? "postgres") === place(state, name) && isUserOf(each)
    );
    if (isCallers) report(["state", "user"], isSame);
    return;
  }
  if (state?.port !== undefined) report(["state", "port"], "is the port of state.host, which is not given");
  const database = entriesOf(databases).find((each) => each?.name === name);
  if (database === undefined) {
    report(["state", "database"], "is none of databases; for another database give state.host too");
  } else if (database.embedded !== undefined) {
    report(["state", "database"], "is an embedded database, which one process alone can use");
  } else if (isUserOf(database)) report(["state", "user"], isSame);
}

function checkNames(entries: readonly Named[], part: string, report: Report): void {
  const names = entries.map((entry) => entry?.name);
  for (const [index, name] of names.entries()) {
    const first = names.indexOf(name);
    if (typeof name !== "string" || first === index) continue;
    report([part, index, "name"], `${part}[${first}] already has the name ${JSON.stringify(name)}`);
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

function checkIdentityProvider(tree: Written, server: "http" | "server", report: Report): void {
  const { auth, client_ip, resource_url } = tree[server] ?? {};
  if (!isMap(auth?.identity_provider)) return;
  const path = [server, "auth", "identity_provider"];
  // a client would be sent to the address that the proxy knows
  if (client_ip?.header !== undefined && resource_url === undefined) {
    report([server, "resource_url"], `is required behind a proxy where ${formatPath(path)} is given`);
  }
  for (const tool of Object.keys(mapOf(auth.identity_provider.scopes_by_tool))) {
    const fault = server === "server"
      ? "has no effect: the RAG server has no tools"
      // one that is misspelt would need no scope; what a definitions file names is looked at where it is read
      : tree.custom_definitions_path !== undefined || builtinTools.some((name) => name === tool)
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

function checkTls(tree: Written, server: "http" | "server", report: Report): void {
  const tls = tree[server]?.tls;
  if (tls?.enabled !== true) return;
  for (const key of ["cert_file", "key_file"] as const) {
    if (tls[key] === undefined) report([server, "tls", key], "is required where TLS is enabled");
  }
}

function checkEmbedding({ llm, embedding }: Written, report: Report): void {
  // no default would stay right, since models come and go; Anthropic's is the one that files for pgEdge's server leave out,
  // and the schema says of local what to do instead
  const needsModel = llm?.provider !== undefined && !/^(?:anthropic|local)$/.test(String(llm.provider));
  if (llm?.enabled !== false && needsModel && llm.model === undefined) {
    report(["llm", "model"], `is required for ${llm.provider}`);
  }
  if (embedding?.enabled === true && embedding.provider === undefined) {
    report(["embedding", "provider"], "is required where embedding is enabled");
  }
  if (embedding?.enabled !== false) checkModel(embedding, ["embedding"], report);
}

function checkKnowledgebase({ knowledgebase, pipelines }: Written, report: Report): void {
  const name = knowledgebase?.pipeline;
  if (name === undefined || knowledgebase?.enabled === false) return;
  const path = ["knowledgebase", "pipeline"];
  const pipeline = entriesOf(pipelines).find((entry) => entry?.name === name);
  if (pipeline === undefined) report(path, "there is no pipeline of that name");
  else if (pipeline.allow_include_sources !== true) {
    report(path, "needs a pipeline with allow_include_sources: true, as its documents are shown");
  }
}

/** Where the two servers listen; undefined for what is no address, and for one that does not run. */
function listeners({ http, server }: Written, { rag }: RunContext) {
  return {
    http: http?.enabled === true ? parseListenAddress(String(http.address ?? ":8080")) : undefined,
    server: rag ? parseListenAddress(String(server?.address ?? "0.0.0.0:8080")) : undefined,
  };
}

function checkListeners(tree: Written, context: RunContext, report: Report): void {
  const { http: tools, server: rag } = listeners(tree, context);
  if (tools === undefined) return;
  const { address = ":8080", auth } = tree.http ?? {};
  if (auth?.enabled === false && !isLoopback(tools.host) && !context.allowInsecure) {
    const reason = `needs -allow-insecure: ${address} can be reached from other machines`;
    report(["http", "auth", "enabled"], `serving without authentication ${reason}`);
  }
  if (rag !== undefined && addressesCollide(tools, rag)) {
    report(
      ["server", "address"],
      `the RAG server and http.address would both listen on port ${tools.port}`,
    );
  }
}

function checkMetricsAddress(tree: Written, text: string, context: RunContext, report: Report): void {
  const address = parseListenAddress(text);
  for (const [server, other] of Object.entries(listeners(tree, context))) {
    if (address === undefined || other === undefined || !addressesCollide(address, other)) continue;
    report(
      ["metrics", "address"],
      `needs a port of its own: ${server}.address listens on port ${address.port}`,
    );
  }
}

/** What a pipeline lacks, `defaults` included, and what cannot be together in it. */
function checkPipeline(
  pipeline: NonNullable<WrittenPipeline>,
  path: SettingPath,
  tree: Written,
  report: Report,
): void {
  for (const part of ["embedding_llm", "rag_llm"] as const) {
    checkProvider(layered(mapOf(pipeline[part]), mapOf(tree.defaults?.[part])), [...path, part], report);
  }
  const { database, rerank, chunks, tables, metadata } = pipeline;
  checkConnection(database, [...path, "database"], report);
  if (database?.hosts === undefined && database?.target_session_attrs !== undefined) {
    report(
      [...path, "database", "target_session_attrs"],
      "needs hosts: with one server there is nothing to choose",
    );
  }
  checkModel(rerank, [...path, "rerank"], report);
  const most = Number(chunks?.max_tokens);
  if (Number(chunks?.overlap_tokens) > most / 2) {
    report([...path, "chunks", "overlap_tokens"], `is more than half of max_tokens, which is ${most}`);
  }
  const [table] = entriesOf(tables);
  const filled: unknown[] = [table?.text_column, table?.vector_column, table?.id_column, "id", "metadata"];
  for (const column of Object.keys(metadata ?? {})) {
    if (![...filled, ...Object.keys(detailTypes)].includes(column)) continue;
    report([...path, "metadata", column], "is a column that -ingest fills itself; name another one");
  }
  const ocrCommand = entriesOf(pipeline.ocr_command);
  if (ocrCommand.length > 0 && !ocrCommand.slice(1).some((part) => String(part).includes("{page}"))) {
    report([...path, "ocr_command"], "needs {page}, the number of the page to read, in an argument");
  }
  if (isMap(pipeline.reembed)) checkReembed(pipeline, [...path, "reembed"], tree, report);
}

function checkProvider(settings: WrittenProvider, path: SettingPath, report: Report): void {
  if (settings.provider === undefined) {
    return report(path, `a provider is required, here or in defaults.${path.at(-1)}`);
  }
  checkModel(settings, path, report);
  for (const [index, entry] of listOf(settings["fallback"]).entries()) {
    checkModel(entry, [...path, "fallback", index], report);
  }
}

/** A column has vectors of one model: that of the new one is another in each table. */
function checkReembed(
  { reembed, embedding_llm, tables }: NonNullable<WrittenPipeline>,
  path: SettingPath,
  { defaults }: Written,
  report: Report,
): void {
  const used: WrittenProvider = layered(mapOf(embedding_llm), mapOf(defaults?.embedding_llm));
  const wanted = layered(mapOf(reembed?.embedding_llm), used);
  checkModel(wanted, [...path, "embedding_llm"], report);
  const nameOf = ({ model, model_path: path = "" }: WrittenProvider) => model ?? modelName(String(path));
  if (wanted.provider === used.provider && nameOf(wanted) === nameOf(used)) {
    report([...path, "embedding_llm"], "is the pipeline's own model: expected another provider or model");
  }
  if (entriesOf(tables).some((table) => table?.vector_column === reembed?.vector_column)) {
    report([...path, "vector_column"], "is a table's own vector_column: expected a new one");
  }
}

function checkModel(section: unknown, path: SettingPath, report: Report): void {
  const { provider, ...others } = mapOf(section);
  if (typeof provider !== "string" || provider === "local") return;
  const named = provider === "onnx" ? "model_path" : "model";
  if (others[named] === undefined) report([...path, named], `is required for ${provider}`);
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
