import type { SharedDeadline } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";
import type { ServedBy } from "../../core/metrics/server_metrics.ts";
import type { IssuerLogin } from "../issuer_login/issuer_login.ts";
import type { Login } from "../login.ts";
import type { RateLimiter } from "../rate_limiter.ts";
import type { AccountSource } from "../users/user_directory.ts";
import type { createClientDocuments } from "./client_metadata.ts";
import type { CookieKeys } from "./cookie_keys.ts";
import type { GrantStore } from "./grant_store.ts";
import type { Branding } from "./pages.ts";
import type { OauthEvent } from "./provider_events.ts";

export interface AuthorizationServerOptions {
  /** What clients know this server by (RFC 8414, section 2). */
  readonly issuer: string;
  /** What tokens are for (RFC 8707): the first where a client does not say. */
  readonly resources: readonly Resource[];
  /** Tools that a scope may be asked for by name. Optional: none is named; others may be asked for too. */
  readonly toolNames?: readonly string[];
  readonly lifetimesMs: {
    readonly accessToken: number;
    readonly refreshToken: number;
    readonly authorizationCode: number;
    readonly deviceCode: number;
  };
  readonly allowRegistration: boolean;
  readonly allowDocuments: boolean;
  readonly allowedRedirectUris: readonly string[];
  /** Origins of web pages that may call this server. */
  readonly allowedOrigins: readonly string[];
  /** Whether the console is a client, which need not register: `consoleClient`. */
  readonly hasConsole: boolean;
  readonly branding: Omit<Branding, "hasLogo" | "staticPath">;
  /** How long an unused grant lasts, for people. */
  readonly refreshLifetimeText: string;
  readonly logo?: Picture | undefined;
  /** Optional: learns what other servers changed. @throws {AppError} `unavailable`, with `retryAfterSeconds` */
  readonly learn?: (() => Promise<void>) | undefined;
  readonly cookieKeys: Pick<CookieKeys, "secrets">;
  readonly store: GrantStore;
  readonly accounts: AccountSource;
  readonly login: Login;
  /** Optional: none where people log in with passwords of this server alone. */
  readonly issuerLogin?: IssuerLogin | undefined;
  /** Counts what failed by address, together with passwords: codes of devices that were not right. */
  readonly limiter: RateLimiter;
  readonly bodyTimeout: SharedDeadline;
  readonly onEvent: (event: OauthEvent) => void;
  readonly logger: Logger;
  readonly documents?: ReturnType<typeof createClientDocuments>;
}

/** A server of this process that takes tokens. */
export interface Resource {
  /** What clients call. */
  readonly address: string;
  readonly server: ServedBy;
}

export interface Picture {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}
