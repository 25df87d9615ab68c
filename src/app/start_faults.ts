import { checkAuditFile } from "../audit/append_lines.ts";
import { type Config, ConfigError } from "../config/mod.ts";
import { AppError } from "../core/app_error.ts";
import { readRegularFile } from "../core/files/read_regular_file.ts";
import { linesOf, type ServerFile } from "../doctor/file_checks.ts";
import { keyFile } from "../identity/authorization_server/cookie_keys.ts";
import { checkGrantFile, grantFile } from "../identity/authorization_server/grant_store.ts";
import { readTokenFile } from "../identity/tokens/token_file.ts";
import { readUserFile } from "../identity/users/user_file.ts";
import { checkHistoryFile, historyFile } from "../tool_server/questions/sqlite_history.ts";
import { builtInIssuer } from "./built_in_issuer.ts";
import { requirePath } from "./path_faults.ts";
import { readAuthorities, readTls } from "./tls_files.ts";

/**
 * Files without which a start fails. A definitions file is among them, though a start only leaves out what it cannot use
 * of it; those of a database are not.
 */
export function serverFiles(config: Config): ServerFile[] {
  const { http, server, data_dir, audit, traces, custom_definitions_path: definitions } = config;
  const trail = audit.file;
  const authorities = traces.endpoint === undefined ? undefined : traces.ca_file;
  const history = data_dir === undefined ? undefined : historyFile(data_dir);
  const embedded = config.databases.flatMap((database, at) =>
    database.embedded === undefined || database.embedded === "memory"
      ? []
      : [folder(`databases[${at}].embedded`, database.embedded)]
  );
  return [
    ...(data_dir === undefined ? [] : [folder("data_dir", data_dir)]),
    ...embedded,
    ...tlsFiles("http.tls", http.tls),
    ...tlsFiles("server.tls", server.tls),
    ...credentialFiles(config),
    ...(authorities === undefined ? [] : [{
      what: "certificate of traces.ca_file",
      path: authorities,
      read: () => readAuthorities(authorities, "traces.ca_file"),
      isCertificate: true,
    }]),
    ...(definitions === undefined ? [] : [{
      what: "definitions",
      path: definitions,
      read: async () => {
        await requirePath("custom_definitions_path", definitions, "read file");
        const { checkDefinitionsFile } = await import("./tool_server/definitions_file.ts");
        await checkDefinitionsFile(definitions, config);
      },
      isPublic: true,
    }]),
    ...(trail === undefined ? [] : [{
      what: "audit trail",
      path: trail,
      read: async () => {
        await requirePath("audit.file", trail, "made file");
        await checkAuditFile(trail);
      },
    }]),
    ...(data_dir === undefined || builtInIssuer(http.auth) === undefined
      ? []
      : oauthFiles(http.auth.oauth, data_dir)),
    ...(history === undefined
      ? []
      : [{ what: "history", path: history, read: () => checkHistoryFile(history) }]),
  ];
}

/** What there is to say of a configuration that names nothing to read; undefined where it names something. */
export function nothingToRead(
  { databases, pipelines }: Pick<Config, "databases" | "pipelines">,
): string | undefined {
  return databases.length + pipelines.length > 0
    ? undefined
    : "The configuration names neither a database nor a pipeline: there is nothing to read";
}

/**
 * Refuses an empty configuration file where nothing else names what there is to read.
 * @throws {ConfigError}
 */
export async function refuseEmptyFile(path: string | undefined, config: Config): Promise<void> {
  if (path === undefined || nothingToRead(config) === undefined) return;
  const isEmpty = await readRegularFile(path).then((text) => text.trim() === "", () => false);
  if (!isEmpty) return;
  const message = "it is empty; -init writes one, and config.example.yaml has every setting";
  throw new ConfigError([{ path: "", message }], path);
}

function oauthFiles(oauth: Config["http"]["auth"]["oauth"], dataDir: string): ServerFile[] {
  const grants = grantFile(dataDir);
  return [
    { what: "OAuth clients and grants", path: grants, read: () => checkGrantFile(grants) },
    {
      what: "OAuth keys and pictures",
      path: keyFile(dataDir),
      read: async () => {
        const { checkAuthorizationFiles } = await import("./open_authorization_server.ts");
        await checkAuthorizationFiles(oauth, dataDir);
      },
    },
  ];
}

function folder(setting: string, path: string): ServerFile {
  return {
    what: setting,
    path,
    read: () => requirePath(setting, path, "made folder"),
    isPublic: true,
  };
}

function credentialFiles({ http, server }: Config): ServerFile[] {
  const files = new Map<string, ServerFile>();
  for (const [section, auth] of [["http.auth", http.auth], ["server.auth", server.auth]] as const) {
    if (!auth.enabled) continue;
    for (const [key, what, readFile] of credentialKinds) {
      const path = auth[key];
      const read = async () => {
        await requirePath(`${section}.${key}`, path, "kept file");
        await readFile(path);
      };
      if (!files.has(`${key} ${path}`)) files.set(`${key} ${path}`, { what, path, read });
    }
  }
  return [...files.values()].toSorted((one, other) => one.what.localeCompare(other.what));
}

const credentialKinds = [
  ["token_file", "token file", readTokenFile],
  ["user_file", "user file", readUserFile],
] as const;

function tlsFiles(section: "http.tls" | "server.tls", tls: Config["http"]["tls"]): ServerFile[] {
  if (!tls.enabled) return [];
  const read = () => readTls(tls, section);
  return [{ what: `certificate of ${section}`, path: tls.cert_file ?? "", read, isCertificate: true }];
}

/**
 * What a start with this configuration would end with or leave out, as far as files tell: nothing is written, and no
 * database or provider is asked. Each is one sentence; a start would tell the first alone.
 */
export async function findStartFaults(config: Config): Promise<string[]> {
  const faults = await Promise.all(
    serverFiles(config).map(async ({ read }) => {
      try {
        await read();
        return [];
      } catch (error) {
        if (error instanceof AppError) return linesOf(error);
        throw error;
      }
    }),
  );
  return faults.flat();
}
