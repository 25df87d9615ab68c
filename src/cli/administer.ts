import { defined } from "../core/defined.ts";
import { type AuditTrail, createAuditTrail } from "../audit/audit_trail.ts";
import type { Config } from "../config/mod.ts";
import { AppError } from "../core/app_error.ts";
import type { TokenLimits } from "../core/principal.ts";
import { createLogger } from "../core/logger.ts";
import { limitNames } from "../identity/tokens/limited_tokens.ts";
import type { State } from "../state/state.ts";
import { builtinTools } from "../tool_server/builtin_kinds.ts";
import type { Output } from "./output.ts";
import type { ParsedFlags } from "./parse_flags.ts";
import { addToken, listTokens, removeToken } from "./operations/token_operations.ts";
import {
  addUser,
  deleteUser,
  disableUser,
  enableUser,
  listUsers,
  updateUser,
} from "./operations/user_operations.ts";

/**
 * Does an administrator's operation on a credential file, and leaves its mark in the audit trail.
 * @throws {AppError} what the operation throws, or where the trail cannot be opened
 */
export async function administer(
  flags: ParsedFlags,
  config: Config,
  output: Output,
): Promise<number | void> {
  await using audit = config.audit.file === undefined ? undefined : await createAuditTrail({
    ...config.audit,
    file: config.audit.file,
    now: Date.now,
    logger: createLogger(config.log),
  });
  try {
    const exitCode = await perform(flags, config, output);
    record(audit, flags, { outcome: "ok" });
    return exitCode;
  } catch (error) {
    const reason = error instanceof AppError ? error.message : "internal error";
    record(audit, flags, { outcome: "failed", reason });
    throw error;
  }
}

function record(
  audit: AuditTrail | undefined,
  flags: ParsedFlags,
  ended: { outcome: string; reason?: string },
): void {
  audit?.record({
    event: "administrator",
    operation: flags.operation,
    ...defined({
      user: flags.options.username,
      client: flags.operation === "revoke-client" ? flags.subject : undefined,
      database: flags.options["token-database"],
      pipeline: flags.pipeline,
    }),
    ...ended,
  });
}

async function perform(flags: ParsedFlags, config: Config, output: Output): Promise<number | void> {
  const { print } = output;
  const { auth } = config.http;
  const { options, json, subject } = flags;
  const tokens = { tokenFile: auth.token_file, json };
  const user = { userFile: auth.user_file, json, username: options.username ?? "" };
  const change = {
    ...user,
    ...defined({ password: options.password, note: options["user-note"] }),
    passwordMinLength: auth.password_min_length,
  };
  switch (flags.operation) {
    case "add-token":
      return await addToken(
        {
          ...tokens,
          ...defined({
            note: options["token-note"],
            database: options["token-database"],
            expiry: options["token-expiry"],
          }),
          limits: Object.fromEntries(limitNames.map((name) => [name, options[`token-${name}`]])),
          known: {
            databases: config.databases.map(({ name }) => name),
            pipelines: config.pipelines.map(({ name }) => name),
            ...(options["token-tools"] && await toolsOf(config)),
          },
        },
        output,
      );
    case "list-tokens":
      return await listTokens(tokens, output);
    case "remove-token":
      return await removeToken({ ...tokens, idOrPrefix: subject }, output);
    case "add-user":
      return await addUser(change, output);
    case "update-user":
      return await updateUser(change, output);
    case "enable-user":
      return await withSharedState(config, (shared) => enableUser({ ...user, shared }, output));
    case "disable-user":
      return await disableUser(user, output);
    case "delete-user":
      return await deleteUser(user, output);
    case "list-users":
      return await withSharedState(config, (shared) => listUsers({ ...user, shared }, output));
    case "list-clients":
    case "revoke-client": {
      const { listClients, revokeClient } = await import("./operations/client_operations.ts");
      const clients = { config, json };
      return flags.operation === "list-clients"
        ? await listClients(clients, print)
        : await revokeClient({ ...clients, clientId: subject }, print);
    }
    case "setup-role":
    case "check-role": {
      const { checkRole, setupRole } = await import("./operations/role_operations.ts");
      const { signal } = new AbortController();
      return flags.operation === "check-role"
        ? await checkRole(config, { json, signal }, print)
        : await setupRole(config, { role: subject, signal }, print);
    }
    case "setup-state": {
      const { setUpSql } = await import("../state/postgres_engine.ts");
      return print(setUpSql(config.state.database?.user ?? "postern_state"));
    }
    case "ingest":
    case "index-pipeline":
    case "setup-watch":
    case "watch-pipeline":
    case "reembed":
    case "drop-index":
    case "evaluate":
    case "doctor": {
      const { ragOperation } = await import("./operations/rag_operations.ts");
      return await ragOperation(flags, config, { print });
    }
  }
}

/** The tools that there are; none where the file of some cannot be read. */
async function toolsOf(config: Config): Promise<TokenLimits> {
  const { custom_definitions_path: path } = config;
  if (path === undefined) return { tools: builtinTools };
  const { usableDefinitions } = await import("../app/tool_server/definitions_file.ts");
  const defined = await usableDefinitions(path, config);
  return defined === undefined ? {} : { tools: [...builtinTools, ...defined.toolNames] };
}

/** Where several servers count logins together, what they counted stands there and not in the user file. */
async function withSharedState<T>(
  config: Config,
  work: (shared: { state: State; maxFailedAttempts: number } | undefined) => Promise<T>,
): Promise<T> {
  if (config.state.database === undefined) return await work(undefined);
  const { openStateNow } = await import("../app/open_state.ts");
  await using state = await openStateNow(config);
  const { max_failed_attempts_before_lockout: maxFailedAttempts } = config.http.auth;
  return await work({ state, maxFailedAttempts });
}
