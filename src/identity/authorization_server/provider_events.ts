import { defined } from "../../core/defined.ts";
import type { KoaContext, OidcProvider } from "./provider_types.ts";

type OauthEventName = "register" | "grant" | "refresh" | "deny" | "reuse" | "revoke" | "failed";
/** Of logins at an issuer: one that lets nobody in any more has expired. */
type IssuerLoginEventName = "login" | "login_failed" | "logout" | "expire";

/** What happened, for counters, the log and the audit trail. */
export interface OauthEvent {
  readonly event: OauthEventName | IssuerLoginEventName;
  readonly clientId?: string;
  readonly username?: string;
  readonly grantId?: string;
  readonly address?: string;
  readonly requestId?: string;
  /** Of what failed: the error's code. */
  readonly reason?: string;
}

/** Passes on what the provider tells, with the request that it came of. */
export function listenToProvider(provider: OidcProvider, { from, onEvent, onFailed }: {
  readonly from: (context: KoaContext) => Pick<OauthEvent, "requestId" | "address">;
  readonly onEvent: (event: OauthEvent) => void;
  readonly onFailed: (context: KoaContext, error: unknown) => void;
}): void {
  const told = (name: string, tell: (context: KoaContext, ...rest: readonly unknown[]) => void) =>
    provider.on(name, (...args: readonly unknown[]) => tell(args[0] as KoaContext, ...args.slice(1)));
  const text = (value: unknown) => typeof value === "string" ? value : undefined;
  told("grant.success", (context) => {
    const { entities, client, params } = context.oidc;
    const { accountId, grantId } = entities["AccessToken"] ?? {};
    onEvent({
      event: params?.["grant_type"] === "refresh_token" ? "refresh" : "grant",
      ...defined({ clientId: client?.clientId, username: text(accountId), grantId: text(grantId) }),
      ...from(context),
    });
  });
  told("grant.error", (context, error) => {
    const { error: code, error_detail: detail } = error as { error?: string; error_detail?: string };
    if (code === "authorization_pending" || code === "slow_down") return;
    const isReuse = detail !== undefined && /already (?:used|consumed)$/.test(detail);
    const { entities } = context.oidc;
    const used = entities["RefreshToken"] ?? entities["AuthorizationCode"] ?? entities["DeviceCode"];
    const [username, grantId] = [text(used?.["accountId"]), text(used?.["grantId"])];
    onEvent({
      event: isReuse ? "reuse" : "failed",
      ...defined({ clientId: context.oidc.client?.clientId, username, grantId, reason: code }),
      ...from(context),
    });
  });
  told(
    "registration_create.success",
    (context, client) =>
      onEvent({ event: "register", clientId: (client as { clientId: string }).clientId, ...from(context) }),
  );
  told("grant.revoked", (context, grantId) => {
    if (context.oidc.route !== "revocation") return;
    onEvent({
      event: "revoke",
      ...defined({ clientId: context.oidc.client?.clientId, grantId: text(grantId) }),
      ...from(context),
    });
  });
  told("server_error", onFailed);
}
