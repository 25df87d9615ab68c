import type { AuditTrail } from "../audit/audit_trail.ts";
import { type Authenticator, createAuthenticator, withIssuer } from "../identity/authenticator.ts";
import {
  createCredentialWatcher,
  type CredentialWatcher,
} from "../identity/credentials/credential_watcher.ts";
import type { CredentialText } from "../identity/credentials/yaml_entries.ts";
import { createLogin, type Login, type LoginReport } from "../identity/login.ts";
import { createPasswordHasher } from "../identity/users/password_hashing.ts";
import { createRateLimiter } from "../identity/rate_limiter.ts";
import type { Sessions } from "../identity/sessions.ts";
import { openTokenDirectory, type TokenDirectory } from "../identity/tokens/token_directory.ts";
import { openUserDirectory, type UserDirectory } from "../identity/users/user_directory.ts";
import type { Config } from "../config/mod.ts";
import { openFileWarning } from "../core/files/file_access.ts";
import type { FileWatch } from "../core/files/watch_files.ts";
import type { Logger } from "../core/logger.ts";
import type { ServerMetrics } from "../core/metrics/server_metrics.ts";
import type { Principal } from "../core/principal.ts";

import type { OpenAuthorizationServer, OpenAuthorizationServerOptions } from "./open_authorization_server.ts";

/** Everything that tells a server who is calling. */
export interface Identity extends AsyncDisposable {
  readonly authenticator: Authenticator;
  /** Absent where nobody may log in with `authenticate_user`. */
  readonly login?: Login;
  /** The built-in authorization server; absent where there is none. */
  readonly oauth?: OpenAuthorizationServer;
}

export interface IdentityOptions {
  readonly auth: Config["http"]["auth"];
  /** How the built-in authorization server is reached; absent where there is none. */
  readonly oauth?:
    | Pick<OpenAuthorizationServerOptions, "issuer" | "dataDir" | "resource" | "allowedOrigins">
    | undefined;
  readonly sessions: Sessions;
  readonly files: FileWatch;
  /** Told of each API token and each grant that ends. */
  readonly onEnded: (principal: Principal) => void;
  readonly audit: AuditTrail | undefined;
  /** Told of each attempt to log in. */
  readonly onLogin: (report: LoginReport) => void;
  readonly metrics: ServerMetrics;
  readonly logger: Logger;
}

const sweepEveryMs = 1_000;

/**
 * Opens the credential files and watches them.
 * @throws {AppError} `invalid`, with the line, for a file that does not parse
 */
export async function openIdentity(options: IdentityOptions): Promise<Identity> {
  const { auth, sessions, audit, metrics, logger } = options;
  await using opening = new AsyncDisposableStack();
  const tokens = await openTokens(options, opening);
  const late: { oauth?: OpenAuthorizationServer } = {};
  const users = await openUsers(options, opening, () => late.oauth?.grants.reconcile());
  for (const path of [auth.token_file, auth.user_file]) {
    const warning = await openFileWarning(path, { rootMayShareWithGroup: true });
    if (warning !== undefined) logger.warn(warning);
  }
  if (tokens.size === 0 && users.size === 0 && auth.identity_provider === undefined) {
    logger.warn("Nobody can log in yet: add a token with -add-token or an account with -add-user");
  }
  const passwords = createPasswordHasher();
  opening.defer(() => passwords.close());
  const limiter = createLimiter(auth, logger);
  const login = createLogin({
    users,
    passwords,
    sessions,
    limiter,
    onLogin(report) {
      options.onLogin(report);
      const { username, address, result, reason, sessionId, via, requestId } = report;
      options.metrics.logins.of(reason ?? result).add();
      options.audit?.record({
        event: "login",
        outcome: result === "success" ? "ok" : result,
        user: username,
        address,
        ...(reason === undefined ? {} : { reason }),
        ...(sessionId === undefined ? {} : { principal: `session:${sessionId}` }),
        ...(via === undefined ? {} : { operation: via }),
        ...(requestId === undefined ? {} : { request: requestId }),
      });
    },
  });
  const provider = auth.identity_provider;
  const issuer = provider &&
    opening.use((await import("./open_issuer.ts")).openIssuer(provider, { ...options, users }));
  if (options.oauth !== undefined) {
    const { openAuthorizationServer } = await import("./open_authorization_server.ts");
    late.oauth = opening.use(
      await openAuthorizationServer({
        ...options.oauth,
        oauth: auth.oauth,
        users,
        login,
        limiter,
        onEnded: options.onEnded,
        audit,
        metrics,
        logger,
      }),
    );
  }
  const { methods } = auth;
  const { oauth } = late;
  const stack = opening.move();
  const own = createAuthenticator({
    ...(methods.api_tokens ? { tokens } : {}),
    ...(methods.password_login ? { sessions } : {}),
    ...(oauth === undefined ? {} : { grants: oauth.grants }),
    now: Date.now,
  });
  return {
    authenticator: issuer === undefined ? own : withIssuer(own, issuer),
    ...(methods.password_login ? { login } : {}),
    ...(oauth === undefined ? {} : { oauth }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function createLimiter(auth: Config["http"]["auth"], logger: Logger) {
  const { rate_limit_max_attempts: maxAttempts, rate_limit_window_minutes: minutes } = auth;
  logger.info(`[AUTH] Rate limiting enabled: ${maxAttempts} failed attempts per ${minutes} minutes per IP`);
  return createRateLimiter({ windowMs: minutes * 60_000, maxAttempts, now: () => performance.now() });
}

async function openTokens(options: IdentityOptions, stack: AsyncDisposableStack): Promise<TokenDirectory> {
  const { auth: { token_file: path }, logger } = options;
  const late: { watcher?: CredentialWatcher } = {};
  const tokens = await openTokenDirectory({
    path,
    now: Date.now,
    logger,
    onEnded: (id) => options.onEnded({ kind: "token", id }),
    beforeWrite: (before, after) => late.watcher?.expectWrite(before, after),
  });
  late.watcher = stack.use(await watchFile("tokens", path, tokens.text, tokens.read, tokens.adopt, options));
  const sweep = () =>
    tokens.sweep().catch((error) =>
      logger.warn("Cannot remove expired tokens from the token file", { file: path, error })
    );
  const timer = setInterval(sweep, sweepEveryMs);
  Deno.unrefTimer(timer);
  stack.defer(() => clearInterval(timer));
  void sweep();
  return tokens;
}

async function openUsers(
  options: IdentityOptions,
  stack: AsyncDisposableStack,
  onReloaded: () => void,
): Promise<UserDirectory> {
  const { auth: { user_file: path, max_failed_attempts_before_lockout }, audit, sessions, metrics, logger } =
    options;
  const late: { watcher?: CredentialWatcher } = {};
  const users = await openUserDirectory({
    path,
    maxFailedAttempts: max_failed_attempts_before_lockout,
    now: Date.now,
    logger,
    beforeWrite: (before, after) => late.watcher?.expectWrite(before, after),
    onReloaded() {
      sessions.reconcile(users);
      onReloaded();
    },
    onLockout(user) {
      logger.warn("An account was locked after too many failed logins", { user });
      audit?.record({ event: "lockout", outcome: "ok", user });
      metrics.lockouts.add();
    },
  });
  stack.use(users);
  late.watcher = stack.use(
    await watchFile("users", path, users.text, () => users.reload(), () => {}, options),
  );
  return users;
}

/**
 * Loads a credential file again when it changes, and records that in the audit trail.
 * @param loaded the text that is loaded already; undefined where there was no file
 */
function watchFile<T>(
  what: "tokens" | "users",
  path: string,
  loaded: string | undefined,
  load: (file: CredentialText) => T | Promise<T>,
  adopt: (data: T) => void,
  { audit, files, metrics, logger }: IdentityOptions,
): Promise<CredentialWatcher> {
  return createCredentialWatcher<T>({
    path,
    ...(loaded === undefined ? {} : { loaded }),
    load,
    onReload(data) {
      adopt(data);
      audit?.record({ event: "reload", outcome: "ok", file: path });
      metrics.reloads.of(what, "ok").add();
    },
    onError(reason) {
      audit?.record({ event: "reload", outcome: "failed", file: path, reason });
      metrics.reloads.of(what, "failed").add();
    },
    files,
    logger,
  });
}
