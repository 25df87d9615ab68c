import { resolve } from "node:path";
import { defined } from "../core/defined.ts";
import {
  notifySocketFrom,
  type OwnProcess,
  passFileFrom,
  type Vendors,
  vendorsFrom,
} from "./environment_variables.ts";
import { type PipelineConfig, pipelineSettings } from "./pipeline_settings.ts";
import type { AuthConfig } from "./schema/auth.ts";
import type { ParsedConfig } from "./schema/config_schema.ts";
import { database as databaseSchema } from "./schema/databases.ts";
import { isMap, valueAt, type ValueMap } from "../core/yaml/value_tree.ts";

type ParsedDatabase = ParsedConfig["databases"][number];

/** A database with its servers in one form: `hosts` holds `host` and `port` too, and is empty for an embedded one. */
export type DatabaseConfig = Omit<ParsedDatabase, "host" | "port" | "hosts"> & {
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
};

/**
 * The configuration that a server runs on: file, environment, flags and defaults together. Names are the file's own;
 * durations and timeouts are in milliseconds, sizes in bytes, `http.address` is a `ListenAddress`, paths are absolute.
 */
export type Config = Omit<ParsedConfig, "databases" | "pipelines" | "defaults" | "api_keys" | "state"> & {
  databases: DatabaseConfig[];
  /** How the database is reached that keeps the state. Optional: none where `data_dir` or memory does. */
  state: Pick<ParsedConfig["state"], "grace"> & { database?: DatabaseConfig };
  pipelines: PipelineConfig[];
  /** Where libpq looks for passwords that are given nowhere else. Optional: none where no home folder is known. */
  pass_file?: string;
  /** Where systemd waits to hear that the servers are ready. Optional: none where it does not. */
  notify_socket?: string;
  /** Which of several it is. Optional: none in a process that serves its ports alone. */
  own_process?: OwnProcess;
  vendors: Vendors;
};

/**
 * The configuration that a server runs on, from what the file, variables and flags say together. Relative paths are taken
 * from `folder`.
 *
 * @param written what `parsed` was made from
 */
export function createConfig(
  parsed: ParsedConfig,
  written: ValueMap,
  folder: string,
  env: Readonly<Record<string, string | undefined>>,
): Config {
  const { defaults: _defaults, api_keys: _apiKeys, ...rest } = parsed;
  const passFile = passFileFrom(env);
  const notifySocket = notifySocketFrom(env);
  return {
    ...rest,
    ...serversOf(parsed, written, folder),
    databases: parsed.databases.map(databaseConfig),
    state: stateConfig(parsed),
    pipelines: parsed.pipelines.map((pipeline) => pipelineSettings(pipeline, parsed)),
    vendors: vendorsFrom(env),
    ...(passFile ? { pass_file: passFile } : {}),
    ...(notifySocket ? { notify_socket: notifySocket } : {}),
  };
}

/** How long an answer of the state's database is waited for, and a connection to it, in milliseconds. */
const stateTimeoutMs = 5_000;

function stateConfig({ state, databases }: ParsedConfig): Config["state"] {
  const { database: name, grace, host, port, ...own } = state;
  if (name === undefined) return { grace };
  const named = host === undefined ? databases.find((database) => database.name === name) : undefined;
  const { password: _password, password_file: _file, ...others } = named ??
    databaseSchema.parse({ name, database: name, ...defined({ host }), port });
  const { password_command: _command, password_from: _from, ...base } = others;
  return {
    grace,
    database: {
      ...databaseConfig({ ...base, ...defined(own) }),
      target_session_attrs: "read-write",
      connect_timeout: stateTimeoutMs,
      statement_timeout: stateTimeoutMs,
    },
  };
}

/** Both servers, with nothing left to look up in the other, and absolute paths. As `createConfig`. */
export function serversOf(
  parsed: ParsedConfig,
  written: ValueMap,
  folder: string,
): Pick<Config, "http" | "server"> {
  return {
    http: { ...parsed.http, auth: withAbsolutePaths(parsed.http.auth, folder) },
    server: { ...parsed.server, auth: withAbsolutePaths(serverAuth(parsed, written), folder) },
  };
}

/** What `server.auth` leaves out, but for `enabled`, is as in `http.auth`: both servers know the same callers. */
function serverAuth({ http, server }: ParsedConfig, written: ValueMap): AuthConfig {
  const own = valueAt(written, ["server", "auth"]);
  const isOwn = (key: string) => key === "enabled" || (isMap(own) && Object.hasOwn(own, key));
  // the built-in authorization server is the tool server's
  const { oauth: _oauth, ...ofTools } = http.auth;
  return { ...ofTools, ...Object.fromEntries(Object.entries(server.auth).filter(([key]) => isOwn(key))) };
}

function withAbsolutePaths<Auth extends AuthConfig>(auth: Auth, folder: string): Auth {
  return {
    ...auth,
    token_file: resolve(folder, auth.token_file),
    user_file: resolve(folder, auth.user_file),
  };
}

function databaseConfig(parsed: ParsedDatabase): DatabaseConfig {
  const { host, port, hosts, ...rest } = parsed;
  return { ...rest, hosts: parsed.embedded === undefined ? hosts ?? [{ host, port }] : [] };
}
