import { AppError } from "../../core/app_error.ts";
import { ownCommand } from "../../core/own_command.ts";
import { checkAuditFile } from "../../audit/append_lines.ts";
import type { Config } from "../../config/mod.ts";
import { readTokenFile } from "../../identity/tokens/token_file.ts";
import { readUserFile } from "../../identity/users/user_file.ts";
import { checkStateFile, stateFile } from "../../state/sqlite_engine.ts";
import { silentLogger } from "../../core/logger.ts";
import { createOnnxModels } from "../../llm/onnx/onnx_models.ts";
import { configuredModels } from "../providers/provider_settings.ts";
import { readAuthorities, readTls } from "../tls_files.ts";
import { type Check, type CheckResult, createCheck, error, warning } from "./check.ts";
import { secretFileCheck, type ServerFile, serverFileCheck } from "./file_checks.ts";
import { namesNothing, requirePath } from "./path_faults.ts";
import { formatListenAddress, isLoopback } from "../../core/address.ts";
import { openStateNow } from "../open_state.ts";
import { builtInIssuer } from "../shared_parts.ts";

/**
 * What can be told of a configuration by itself: of its settings, of the files without which a server would not start, and of
 * the database that keeps the state, for which alone it needs a network. A start itself warns of the settings and refuses the files; `-check-config` and `-doctor` tell all of it.
 */
export function configurationChecks(config: Config, now: () => number): Check[] {
  const openness = config.pipelines.length === 0 ? undefined : opennessWarning(config);
  return [
    ...(namesNothing(config) ? [nothingToRead] : []),
    ...(openness === undefined ? [] : [opennessCheck(openness)]),
    ...serverFiles(config).map((file) => serverFileCheck(file, now)),
    ...stateChecks(config),
  ];
}

/** Whether the database can keep the state, and whether its password is read by nobody else. */
function stateChecks(config: Config): Check[] {
  const { database } = config.state;
  if (database === undefined) return [];
  const { password_file: file } = database;
  // a start tells of one that is missing when it connects
  const ofFile = file === undefined ? undefined : secretFileCheck(file, "password");
  return [
    ...(ofFile === undefined ? [] : [createCheck(ofFile.name, ofFile.run)]),
    createCheck("state", async () => {
      try {
        await using _state = await openStateNow(config);
        return [];
      } catch (thrown) {
        if (!(thrown instanceof AppError)) throw thrown;
        return [error(
          thrown.message,
          `-- ${ownCommand().name} -setup-state prints the SQL of the tables and their role; docs/replicas.md says more`,
        )];
      }
    }),
  ];
}

function settingCheck(name: string, found: () => CheckResult): Check {
  return { name, looksAt: "settings", run: () => Promise.resolve([found()]) };
}

const nothingToRead = settingCheck("databases", () =>
  error(
    "The configuration names neither a database nor a pipeline: there is nothing to read",
    `-- Name a database under databases: ${ownCommand().name} -init asks for one, and writes config.yaml`,
  ));

function opennessCheck({ message, remedy }: Openness): Check {
  return settingCheck("callers", () => warning(message, `-- To mend it, ${remedy}`));
}

/**
 * Files without which a start fails. A definitions file is among them, though a start only leaves out what it cannot use
 * of it; those of a database are not.
 */
function serverFiles(config: Config): ServerFile[] {
  const { http, server, data_dir, audit, traces, custom_definitions_path: definitions } = config;
  const trail = audit.file;
  const authorities = traces.endpoint === undefined ? undefined : traces.ca_file;
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
        const { checkDefinitionsFile } = await import("../tool_server/definitions_file.ts");
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
    ...(data_dir === undefined || config.state.database !== undefined ? [] : [{
      what: "state",
      path: stateFile(data_dir),
      read: () => checkStateFile(stateFile(data_dir)),
    }]),
    ...pictures(http.auth),
    ...models(config),
  ];
}

function pictures(auth: Config["http"]["auth"]): ServerFile[] {
  const { logo_file: path } = auth.oauth.login_page;
  if (path === undefined || builtInIssuer(auth) === undefined) return [];
  return [{
    what: "picture of the login page",
    path,
    read: async () => {
      const { readLogo } = await import("../open_authorization_server.ts");
      await readLogo(auth.oauth);
    },
    isPublic: true,
  }];
}

function models(config: Config): ServerFile[] {
  return configuredModels(config).map((model) => ({
    what: `model for ${model.task}`,
    path: model.path,
    read: async () => {
      const opened = createOnnxModels({ libraryPath: config.models.library_path, logger: silentLogger });
      await using _model = await opened.open(model);
    },
    isPublic: true,
  }));
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

interface Openness {
  readonly message: string;
  readonly remedy: string;
}

/**
 * What an operator should hear of a RAG server that asks nobody who is calling; undefined where it asks, and where only
 * its own machine reaches it and nothing says that it is not for everyone.
 */
export function opennessWarning(
  { server, identity, pipelines }: Pick<Config, "server" | "identity" | "pipelines">,
): Openness | undefined {
  if (server.auth.enabled || identity.enabled) return undefined;
  const listed = pipelines.filter((pipeline) => pipeline.available_to_users.length > 0);
  if (isLoopback(server.address.host) && listed.length === 0) return undefined;
  const ignored = listed.length === 0
    ? ""
    : `; available_to_users has no effect (${listed.map(({ name }) => name).join(", ")})`;
  return {
    message: `Everyone who reaches ${formatListenAddress(server.address)} may ask every pipeline${ignored}`,
    remedy:
      "set server.auth.enabled, let the RAG server listen on loopback (server.address), or have a proxy decide " +
      "who may ask",
  };
}
