import type { IncomingMessage, ServerResponse } from "node:http";
import type { NodeCallback } from "../../http/node_callback.ts";

/** What is used of the package `oidc-provider`, which has no types of its own. */
export interface OidcProvider {
  callback(): NodeCallback;
  use(middleware: (context: KoaContext, next: () => Promise<void>) => Promise<void>): void;
  on(event: string, told: (...args: readonly never[]) => void): void;
  interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Interaction>;
  /** @returns where to go on */
  interactionResult(
    request: IncomingMessage,
    response: ServerResponse,
    result: InteractionResult,
  ): Promise<string>;
  readonly AccessToken: OidcTokenKind;
  readonly AuthorizationCode: OidcTokenKind;
  readonly DeviceCode: OidcTokenKind;
  readonly RefreshToken: OidcTokenKind<{ readonly grantId: string }>;
  readonly Client: { find(id: string): Promise<OidcClient | undefined> };
  readonly Grant: {
    /** @param of.jti its ID. Optional: a new one */
    new (of: { readonly accountId: string; readonly clientId: string; readonly jti?: string }): OidcGrant;
    find(id: string): Promise<OidcGrant | undefined>;
  };
}

/** Those that are not kept yet have a value made for them. */
interface OidcTokenKind<Token = unknown> {
  readonly prototype: { generateTokenId(this: Token): string };
}

export interface OidcModule {
  readonly Provider: {
    new (issuer: string, configuration: Readonly<Record<string, unknown>>): OidcProvider;
    /** Of the request that is being answered. */
    readonly ctx: KoaContext | undefined;
  };
  readonly errors: Readonly<Record<string, new (...texts: readonly string[]) => Error>>;
  readonly interactionPolicy: { base(): unknown };
}

export interface KoaContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly method: string;
  readonly path: string;
  /** The query as it came, with its `?`. */
  readonly search: string;
  readonly query: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly oidc: OidcContext;
  status: number;
  body: unknown;
  set(headers: Readonly<Record<string, string>>): void;
  append(header: string, value: string): void;
  get(name: string): string;
  redirect(url: string): void;
}

interface OidcContext {
  readonly route: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly client?: OidcClient;
  readonly result?: InteractionResult;
  readonly session?: {
    readonly state?: { readonly secret?: string };
    destroy(): Promise<void>;
    /** Absent as long as it has not been kept. */
    readonly exp?: number;
    /** Whether the provider keeps it after the answer. */
    touched?: boolean;
  };
  readonly entities: Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>;
  /** Notes what the request is about. */
  entity(kind: string, payload: Readonly<Record<string, unknown>>): void;
  urlFor(name: string): string;
}

export interface OidcClient {
  readonly clientId: string;
  readonly clientName?: string;
  grantTypeAllowed(grant: string): boolean;
}

interface OidcGrant {
  addResourceScope(resource: string, scope: string): void;
  save(): Promise<string>;
}

export interface InteractionResult {
  readonly login?: {
    readonly accountId: string;
    readonly remember: false;
    /** Kept with the login; the provider puts it into ID tokens, of which there are none. */
    readonly amr: readonly string[];
  };
  readonly consent?: { readonly grantId: string };
  readonly error?: string;
  readonly error_description?: string;
}

export interface Interaction {
  readonly uid: string;
  readonly prompt: {
    readonly name: string;
    readonly details: { readonly missingResourceScopes?: Readonly<Record<string, readonly string[]>> };
  };
  readonly params: Readonly<Record<string, unknown>>;
  readonly session?: { readonly accountId?: string; readonly amr?: readonly string[] };
}
