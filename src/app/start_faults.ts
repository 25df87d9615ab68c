import { checkAuditFile } from "../audit/append_lines.ts";
import type { AuthConfig, Config } from "../config/mod.ts";
import { AppError } from "../core/app_error.ts";
import { linesOf, type ServerFile } from "../doctor/file_checks.ts";
import { keyFile } from "../identity/authorization_server/cookie_keys.ts";
import { checkGrantFile, grantFile } from "../identity/authorization_server/grant_store.ts";
import { readTokenFile } from "../identity/tokens/token_file.ts";
import { readUserFile } from "../identity/users/user_file.ts";
import { checkHistoryFile, historyFile } from "../tool_server/questions/sqlite_history.ts";
import { builtInIssuer } from "./built_in_issuer.ts";
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
  return [
    ...tlsFiles("http.tls", http.tls),
    ...tlsFiles("server.tls", server.tls),
    ...credentialFiles([http.auth, server.auth]),
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
        const { checkDefinitionsFile } = await import("./tool_server/definitions_file.ts");
        await checkDefinitionsFile(definitions, config);
      },
      isPublic: true,
    }]),
    ...(trail === undefined ? [] : [{ what: "audit trail", path: trail, read: () => checkAuditFile(trail) }]),
    ...(data_dir === undefined || builtInIssuer(http.auth) === undefined
      ? []
      : oauthFiles(http.auth.oauth, data_dir)),
    ...(history === undefined
      ? []
      : [{ what: "history", path: history, read: () => checkHistoryFile(history) }]),
  ];
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

function credentialFiles(sections: readonly AuthConfig[]): ServerFile[] {
  const enabled = sections.filter((auth) => auth.enabled);
  const tokenFiles = new Set(enabled.map((auth) => auth.token_file));
  const userFiles = new Set(enabled.map((auth) => auth.user_file));
  return [
    ...Array.from(tokenFiles, (path) => ({ what: "token file", path, read: () => readTokenFile(path) })),
    ...Array.from(userFiles, (path) => ({ what: "user file", path, read: () => readUserFile(path) })),
  ];
}

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
