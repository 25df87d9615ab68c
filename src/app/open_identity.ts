import { AppError } from "../core/app_error.ts";
import { defined } from "../core/defined.ts";
import type { AuditTrail } from "../audit/audit_trail.ts";
import { type Authenticator, createAuthenticator, withIssuer } from "../identity/authenticator.ts";
import {
  createCredentialWatcher,
  type CredentialWatcher,
} from "../identity/credentials/credential_watcher.ts";
import type { CredentialText } from "../identity/credentials/yaml_entries.ts";
import type { Issuer } from "../identity/issuer/issuer.ts";
import { createLogin, type Login, type LoginReport } from "../identity/login.ts";
import { createPasswordHasher } from "../identity/users/password_hashing.ts";
import { createRateLimiter } from "../identity/rate_limiter.ts";
import { createSessions } from "../identity/sessions.ts";
import { createSharedLogins } from "../identity/users/shared_logins.ts";
import { openTokenDirectory, type TokenDirectory } from "../identity/tokens/token_directory.ts";
import { openUserDirectory, type UserDirectory } from "../identity/users/user_directory.ts";
import type { AuthConfig } from "../config/mod.ts";
import { openFileWarning } from "../core/files/file_access.ts";
import type { FileWatch } from "../core/files/watch_files.ts";
import type { Logger } from "../core/logger.ts";
import { readGeneration, type ServerMetrics } from "../core/metrics/server_metrics.ts";
import type { Principal } from "../core/principal.ts";
import { stateIsAway } from "../state/engine.ts";
import type { State } from "../state/state.ts";
import type { OpenAuthorizationServer, OpenAuthorizationServerOptions } from "./open_authorization_server.ts";

/** Everything that tells a server who is calling. */
export interface Identity {
  readonly authenticator: Authenticator;
  /** Optional: none where nobody may log in with a password. */
  readonly login?: Login;
  /** The built-in authorization server. Optional: none where its tokens let nobody in. */
  readonly oauth?: OpenAuthorizationServer;
  /** Whose access tokens let callers in. Optional: none where no such tokens do. */
  readonly issuer?: Pick<Issuer, "name" | "ping">;
  /**
   * Ends a session or a grant, by its id; one that has ended already does no harm. Once it resolves, no server lets it in for
   * longer than a second.
   *
   * @throws {AppError} `unavailable`, with `retryAfterSeconds`, where other servers cannot be told yet
   */
  readonly endSession: (id: string) => Promise<void>;
  /** Tells from now on of each API token, session and grant that ends. */
  onEnded(listener: (principal: Principal) => void): void;
}

/** How the built-in authorization server is reached. */
export interface OauthOptions extends
  Pick<
    OpenAuthorizationServerOptions,
    "issuer" | "toolNames" | "oauth" | "resources" | "allowedOrigins" | "hasConsole"
  > {
  /** Whose users log in. */
  readonly auth: AuthConfig;
}

interface IdentityOptions {
  /** Keeps sessions, failed logins, clients and grants. */
  readonly state: State;
  /** Whether logins are counted in the state, and not in the user file. */
  readonly sharesLogins: boolean;
  /** Of the tool server. */
  readonly userFile: string;
  readonly files: FileWatch;
  /** Optional: none where the process has no authorization server of its own. */
  readonly oauth: OauthOptions | undefined;
  readonly audit: AuditTrail | undefined;
  /** Told of each attempt to log in. */
  readonly onLogin: (report: LoginReport) => void;
  /** Told of each request with a token that may not come from where it came. */
  readonly onOtherNetwork: (tokenId: string, address: string) => void;
  readonly metrics: ServerMetrics;
  readonly logger: Logger;
}

const sweepEveryMs = 1_000;

export type Identities = ReturnType<typeof createIdentities>;

/**
 * The identities of a process. Servers whose settings name the same files share their tokens, accounts, sessions and
 * counts of failed logins. Which ways in there are, each server says for itself.
 */
export function createIdentities(options: IdentityOptions) {
  const stack = new AsyncDisposableStack();
  const opened = new Map<string, SharedIdentity>();
  const issuers = new Map<string, Issuer>();
  options.metrics.sessions.collect(() =>
    [...opened.values()].map(({ sessions }) => ({ labels: [], value: sessions.size }))
  );

  async function issuerOf(
    { identity_provider: provider }: AuthConfig,
    { users }: SharedIdentity,
    files: string,
  ) {
    if (provider === undefined) return undefined;
    const key = JSON.stringify([files, provider]);
    const { openIssuer } = await import("./open_issuer.ts");
    const issuer = issuers.get(key) ?? stack.use(openIssuer(provider, { ...options, users }));
    issuers.set(key, issuer);
    return issuer;
  }

  const filesOf = ({ token_file, user_file }: AuthConfig) => JSON.stringify([token_file, user_file]);

  async function sharedOf(auth: AuthConfig): Promise<SharedIdentity> {
    const files = filesOf(auth);
    const shared = opened.get(files) ??
      stack.use(
        await openShared({
          ...options,
          auth,
          accounts: auth.user_file === options.userFile ? "http" : "server",
        }),
      );
    opened.set(files, shared);
    return shared;
  }

  // tokens of each server, also where it does not take them; a session or a grant is known by its token's form
  const all: ReturnType<typeof createAuthenticator>[] = [];
  const isOurs = (header: string) => all.some((each) => each.authenticate(header) !== undefined);
  let oauthServer: OpenAuthorizationServer | undefined;

  async function openOauth(): Promise<OpenAuthorizationServer | undefined> {
    if (oauthServer !== undefined || options.oauth === undefined) return oauthServer;
    const { openAuthorizationServer } = await import("./open_authorization_server.ts");
    const shared = await sharedOf(options.oauth.auth);
    const server = stack.use(await openAuthorizationServer({ ...options, ...shared, ...options.oauth }));
    shared.onReloaded(() => {
      server.grants.reconcile().catch((error) =>
        options.logger.warn("Cannot end the grants of accounts that are gone", { error })
      );
    });
    return oauthServer = server;
  }

  return {
    /**
     * @param resource let in with those tokens of the built-in authorization server that are for it; undefined where none do
     * @throws {AppError} `invalid`, with the line, for a file that does not parse
     */
    async open(auth: AuthConfig, resource?: string): Promise<Identity> {
      const shared = await sharedOf(auth);
      const { tokens, sessions, login } = shared;
      const issuer = await issuerOf(auth, shared, filesOf(auth));
      const oauth = resource === undefined ? undefined : await openOauth();
      const { methods } = auth;
      const grants = oauth === undefined || resource === undefined
        ? {}
        : { grants: oauth.grants.of(resource) };
      const own = createAuthenticator({
        ...(methods.api_tokens ? { tokens } : {}),
        ...(methods.password_login ? { sessions } : {}),
        ...grants,
        onOtherNetwork: options.onOtherNetwork,
        now: options.state.now,
      });
      all.push(createAuthenticator({ tokens, now: Date.now }));
      return {
        authenticator: issuer === undefined ? own : withIssuer(own, issuer, isOurs),
        ...(methods.password_login ? { login } : {}),
        ...defined({ oauth, issuer }),
        async endSession(id) {
          const isKept = await sessions.end(id);
          await oauth?.grants.end(id);
          if (isKept || !options.state.isShared) return;
          throw new AppError("unavailable", stateIsAway, { data: { retryAfterSeconds: 1 } });
        },
        onEnded(listener) {
          shared.onEnded(listener);
          oauth?.onEnded(listener);
        },
      };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

interface OpenOptions extends IdentityOptions {
  readonly auth: AuthConfig;
  /** Whose accounts they are: servers that share a state may have the same file in other places. */
  readonly accounts: "http" | "server";
}

/** What servers share that have the same files. */
type SharedIdentity = Awaited<ReturnType<typeof openShared>>;

/** Opens the credential files and watches them. */
async function openShared(options: OpenOptions) {
  const { auth, state, logger } = options;
  await using opening = new AsyncDisposableStack();
  const endListeners: ((principal: Principal) => void)[] = [];
  const tellEnded = (principal: Principal) => endListeners.forEach((listener) => listener(principal));
  const sessions = opening.use(createSessions({
    lifetimeMs: auth.session_lifetime,
    now: state.now,
    kept: state.of(`session ${options.accounts}`),
    requireCurrent: state.requireCurrent,
    learn: state.isShared ? state.catchUp : undefined,
    accounts: options.sharesLogins ? { find: (username) => users.find(username) } : undefined,
    onEnded: ({ id, username }) => tellEnded({ kind: "session", id, username }),
  }));
  const reloadListeners: (() => void)[] = [];
  const tokens = await openTokens({ ...options, onEnded: tellEnded }, opening);
  const users = await openUsers(options, opening, () => {
    sessions.reconcile(users);
    reloadListeners.forEach((listener) => listener());
  });
  const limiter = createLimiter(options);
  // where the state does not answer yet, they come when it does
  await state.catchUp().catch(() => {});
  // of those that were kept, some may be of accounts that are gone
  sessions.reconcile(users);
  for (const path of [auth.token_file, auth.user_file]) {
    const warning = await openFileWarning(path, { rootMayShareWithGroup: true });
    if (warning !== undefined) logger.warn(warning);
  }
  const isElsewhere = auth.identity_provider !== undefined || options.oauth?.oauth.login !== undefined;
  if (tokens.size === 0 && users.size === 0 && !isElsewhere) {
    logger.warn("Nobody can log in yet: add a token with -add-token or an account with -add-user");
  }
  const passwords = createPasswordHasher();
  opening.defer(() => passwords.close());
  const login = createLogin({
    users,
    passwords,
    sessions,
    limiter,
    learn: state.isShared ? state.catchUp : undefined,
    onLogin(report) {
      options.onLogin(report);
      const { username, address, result, reason, sessionId, via, requestId } = report;
      options.metrics.logins.of(reason ?? result).add();
      return options.audit?.record({
        event: "login",
        outcome: result === "success" ? "ok" : result,
        user: username,
        address,
        ...defined({ reason }),
        ...(sessionId === undefined ? {} : { principal: `session:${sessionId}` }),
        ...defined({ operation: via, request: requestId }),
      });
    },
  });
  const stack = opening.move();
  return {
    tokens,
    users,
    sessions,
    login,
    limiter,
    onEnded: (listener: (principal: Principal) => void) => void endListeners.push(listener),
    /** Tells from now on when accounts were read that somebody else had changed. */
    onReloaded: (listener: () => void) => void reloadListeners.push(listener),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function createLimiter({ auth, accounts, state, logger }: OpenOptions) {
  const { rate_limit_max_attempts: maxAttempts, rate_limit_window_minutes: minutes } = auth;
  logger.info(`[AUTH] Rate limiting enabled: ${maxAttempts} failed attempts per ${minutes} minutes per IP`);
  return createRateLimiter({
    windowMs: minutes * 60_000,
    maxAttempts,
    now: () => performance.now(),
    kept: state.of(`failed login ${accounts}`),
    wallNow: state.now,
  });
}

async function openTokens(
  options: OpenOptions & { readonly onEnded: (principal: Principal) => void },
  stack: AsyncDisposableStack,
): Promise<TokenDirectory> {
  const { auth: { token_file: path }, logger } = options;
  const late: { watcher?: CredentialWatcher } = {};
  const tokens = await openTokenDirectory({
    path,
    now: Date.now,
    logger,
    onEnded: (id) => options.onEnded({ kind: "token", id }),
    beforeWrite: (before, after) => late.watcher?.expectWrite(before, after),
  });
  tellGeneration("tokens", () => tokens.fingerprint, options, stack);
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
  options: OpenOptions,
  stack: AsyncDisposableStack,
  onReloaded: () => void,
): Promise<UserDirectory> {
  const { auth: { user_file: path, max_failed_attempts_before_lockout }, state, audit, metrics, logger } =
    options;
  const late: { watcher?: CredentialWatcher } = {};
  const users = await openUserDirectory({
    path,
    maxFailedAttempts: max_failed_attempts_before_lockout,
    now: Date.now,
    logger,
    ...(options.sharesLogins && {
      logins: createSharedLogins(state, options.accounts, {
        maxFailedAttempts: max_failed_attempts_before_lockout,
      }),
    }),
    beforeWrite: (before, after) => late.watcher?.expectWrite(before, after),
    onReloaded,
    onLockout(user) {
      logger.warn("An account was locked after too many failed logins", { user });
      audit?.record({ event: "lockout", outcome: "ok", user });
      metrics.lockouts.add();
    },
  });
  stack.use(users);
  tellGeneration("users", () => users.text, options, stack);
  late.watcher = stack.use(
    await watchFile("users", path, users.text, () => users.reload(), () => {}, options),
  );
  return users;
}

function tellGeneration(
  what: "tokens" | "users",
  text: () => string | undefined,
  { accounts, metrics }: OpenOptions,
  stack: AsyncDisposableStack,
): void {
  const of = accounts === "http" ? what : `server ${what}`;
  stack.defer(metrics.generations.collect(readGeneration(of, text)));
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
    ...defined({ loaded }),
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
