import { AppError } from "../../core/app_error.ts";
import { principalName, sessionIdOf } from "../../core/principal.ts";
import type { FailedLogin, IssuerLogin } from "../issuer_login/issuer_login.ts";
import { Buffer } from "node:buffer";
import type { ServedBy } from "../../core/metrics/server_metrics.ts";
import type { AuthorizationServerOptions } from "./authorization_server_options.ts";
import { isDocumentAddress } from "./client_metadata.ts";
import { accountMark, holds } from "./grants.ts";
import { type Page, pageHeaders, type Pages, type ShownClient } from "./pages.ts";
import { consoleClientId } from "./provider_configuration.ts";
import type {
  Interaction,
  InteractionResult,
  KoaContext,
  OidcClient,
  OidcProvider,
} from "./provider_types.ts";
import { defined } from "../../core/defined.ts";
import type { RateLimiter } from "../rate_limiter.ts";
import { codeParameter } from "./request_parameters.ts";

interface InteractionOptions
  extends Pick<AuthorizationServerOptions, "login" | "accounts" | "issuerLogin" | "limiter" | "onEvent"> {
  readonly provider: OidcProvider;
  readonly pages: Pages;
  /** Of the issuer, as browsers name it in `Origin`. */
  readonly origin: string;
  /** The path before `/oauth/…`; empty where there is none. */
  readonly prefix: string;
  /** How long a grant may be unused, for people. */
  readonly lifetime: string;
  /** Whose tokens are for a resource. */
  readonly serverOf: (resource: string) => ServedBy | undefined;
}

/** Keeps the secret of a login at an issuer in the browser that began it; where its interaction is, and nowhere else. */
const issuerCookie = "postern_issuer";
const issuerSecret = new RegExp(String.raw`(?:^|; )${issuerCookie}=([\w-]{43})(?:;|$)`);
/** Of the page's own address: begin a login at the issuer. */
const beginParameter = "begin";

/** The part of an address that names an interaction. */
const interactionPath = /^\/oauth\/interaction\/([\w-]{10,64})$/;

/** Of a browser that has no interaction. */
export const interactionGone =
  "This login has expired, or it began in another browser. Start again from your application.";

/** Whom a page names. */
export function shownClient(client: OidcClient | undefined, redirectUri?: string): ShownClient {
  return {
    name: client?.clientName,
    host: client !== undefined && isDocumentAddress(client.clientId)
      ? new URL(client.clientId).host
      : undefined,
    isOwn: client?.clientId === consoleClientId,
    redirectUri,
  };
}

/**
 * The login page and the page that asks for consent. A browser gets at them only with the cookie that the authorization
 * request gave it, and forms only from these pages themselves.
 */
export function createInteractionPages(options: InteractionOptions) {
  const { provider, pages, login, accounts, issuerLogin, origin, prefix, lifetime, serverOf, onEvent } =
    options;

  function show(context: KoaContext, page: Page, headers: Record<string, string> = {}): void {
    context.status = page.status;
    context.set({ ...pageHeaders(page, pages.styleHash), ...headers });
    context.body = page.html;
  }

  async function finish(context: KoaContext, result: InteractionResult): Promise<void> {
    const next = await provider.interactionResult(context.req, context.res, result);
    seeOther(context, next);
  }

  function seeOther(context: KoaContext, url: string): void {
    context.redirect(url);
    context.status = 303;
    context.set({ "cache-control": "no-store" });
    context.body = "";
  }

  async function logIn(
    context: KoaContext,
    interaction: Interaction,
    fields: URLSearchParams,
    caller: Caller,
  ): Promise<void> {
    const client = await clientOf(interaction);
    const username = fields.get("username") ?? "";
    const result = await login.verify({ username, password: fields.get("password") ?? "", ...caller });
    if (result.kind === "verified") {
      const { account } = result;
      return await finish(context, {
        login: { accountId: account.username, remember: false, amr: [accountMark(account)] },
      });
    }
    const problems = {
      failed: [200, "User name or password is wrong, or the account is locked."],
      rate_limited: [429, "Too many logins from your address have failed. Try again later."],
      busy: [503, "Too many logins are waiting. Try again in a moment."],
      unavailable: [503, "Nobody can log in at the moment. Try again soon."],
    } as const;
    const [status, problem] = problems[result.kind];
    const page = pages.login({ ...formOf(interaction, client), username, problem, status });
    show(context, page, result.kind === "failed" ? {} : { "retry-after": String(result.retryAfterSeconds) });
  }

  /** Leads the browser to the issuer, with a secret that it keeps for when it comes back. */
  async function goToIssuer(context: KoaContext, interaction: Interaction, issuer: IssuerLogin) {
    const begun = await issuer.begin(interaction.uid);
    if (begun.kind === "failed") return showFailed(context, interaction, begun);
    const secure = origin.startsWith("https:") ? "; secure" : "";
    const attributes = `path=${actionOf(interaction)}; httponly; samesite=lax${secure}`;
    context.append("set-cookie", `${issuerCookie}=${begun.secret}; ${attributes}`);
    seeOther(context, begun.url);
  }

  /** Takes what the issuer sent the browser back with. */
  async function comeBack(context: KoaContext, interaction: Interaction, issuer: IssuerLogin, by: Caller) {
    const { address, requestId } = by;
    const secret = issuerSecret.exec(context.get("cookie"))?.[1];
    const { limited } = options.limiter.check(address);
    const result = await issuer.finish(interaction.uid, secret, context.search, limited);
    const told = { clientId: String(interaction.params["client_id"]), address, requestId };
    if (result.kind === "done") {
      const accountId = principalName(result.principal);
      onEvent({ event: "login", ...told, username: accountId });
      const amr = [sessionIdOf(result.principal) ?? ""];
      return await finish(context, { login: { accountId, remember: false, amr } });
    }
    if (result.reason === "access_denied") return await deny(context, interaction, "the user did not log in");
    // that the issuer fails says nothing of who asks
    if (!limited && result.reason !== "unavailable") await options.limiter.recordFailed(address);
    onEvent({ event: "login_failed", ...told, reason: result.reason });
    showFailed(context, interaction, result);
  }

  function showFailed(context: KoaContext, interaction: Interaction, failed: FailedLogin): void {
    show(context, pages.error(failed.status, failed.message, beginAt(interaction)));
  }

  const beginAt = (interaction: Interaction) => `${actionOf(interaction)}?${beginParameter}`;

  function formOf(interaction: Interaction, client: ShownClient) {
    const issuer = issuerLogin && { name: issuerLogin.name, href: beginAt(interaction) };
    return { action: actionOf(interaction), client, ...defined({ issuer }) };
  }

  /** Who logged in, as long as that counts: it ends as grants do, with another password say. */
  async function accountOf({ session }: Interaction) {
    const { accountId: username = "", amr: [mark = ""] = [] } = session ?? {};
    if (issuerLogin?.logins.covers(username)) {
      const { logins, name: issuer } = issuerLogin;
      const person = await logins.current(mark);
      return person && { accountId: username, jti: mark, name: person.name ?? person.subject, issuer };
    }
    const account = accounts.find(username);
    return account?.enabled && holds(account, mark) ? { accountId: username, name: username } : undefined;
  }

  async function allow(context: KoaContext, interaction: Interaction): Promise<void> {
    const { client_id: clientId } = interaction.params;
    const account = await accountOf(interaction);
    if (account === undefined) return await deny(context, interaction, "the login has ended");
    const grant = new provider.Grant({ ...account, clientId: String(clientId) });
    for (const [resource, scopes] of askedScopes(interaction)) {
      grant.addResourceScope(resource, scopes.join(" "));
    }
    await finish(context, { consent: { grantId: await grant.save() } });
  }

  function deny(context: KoaContext, interaction: Interaction, reason: string): Promise<void> {
    onEvent({ event: "deny", clientId: String(interaction.params["client_id"]) });
    return finish(context, { error: "access_denied", error_description: reason });
  }

  async function clientOf({ params }: Interaction): Promise<ShownClient> {
    const redirectUri = params["redirect_uri"];
    return shownClient(
      await provider.Client.find(String(params["client_id"])),
      typeof redirectUri === "string" ? redirectUri : undefined,
    );
  }

  const actionOf = ({ uid }: Interaction) => `${prefix}/oauth/interaction/${uid}`;

  async function render(context: KoaContext, interaction: Interaction, caller: Caller): Promise<void> {
    const action = actionOf(interaction);
    const client = await clientOf(interaction);
    if (interaction.prompt.name === "login") {
      const isAsked = (name: string) => context.query[name] !== undefined;
      if (issuerLogin && isAsked("state")) return await comeBack(context, interaction, issuerLogin, caller);
      if (issuerLogin && (!login.hasAccounts || isAsked(beginParameter))) {
        return await goToIssuer(context, interaction, issuerLogin);
      }
      return show(context, pages.login(formOf(interaction, client)));
    }
    const rights = askedScopes(interaction).flatMap(([resource, scopes]) =>
      scopes.map((scope) => ({ scope, server: serverOf(resource) }))
    );
    const { name: username = "", issuer } = await accountOf(interaction) ?? {};
    show(context, pages.consent({ action, client, username, rights, lifetime, ...defined({ issuer }) }));
  }

  return {
    show,
    gone: pages.error(400, interactionGone),
    headersOf: (page: Page) => pageHeaders(page, pages.styleHash),
    /** Answers what is about an interaction; whether that was so. */
    async answer(context: KoaContext, callerOf: (context: KoaContext) => Caller): Promise<boolean> {
      const uid = interactionPath.exec(context.path)?.[1];
      if (uid === undefined) return false;
      const interaction = await provider.interactionDetails(context.req, context.res).catch((error) => {
        // it may still be there
        if (error instanceof AppError) throw error;
        return undefined;
      });
      if (interaction?.uid !== uid) {
        show(context, pages.error(400, interactionGone));
        return true;
      }
      if (context.method !== "POST") {
        await render(context, interaction, callerOf(context));
        return true;
      }
      // SameSite keeps the cookie away from forms of other pages already; not every browser knows that
      if (context.get("origin") !== origin) {
        show(
          context,
          pages.error(403, "This form was not sent from this page. Start again from your application."),
        );
        return true;
      }
      const fields = await readForm(context);
      if (fields.get("action") === "deny") await deny(context, interaction, "the user did not allow it");
      else if (interaction.prompt.name === "login") {
        await logIn(context, interaction, fields, callerOf(context));
      } else if (fields.get("action") === "allow") await allow(context, interaction);
      else await render(context, interaction, callerOf(context));
      return true;
    },
  };
}

/** Who sent a form. */
export interface Caller {
  readonly address: string;
  readonly requestId: string;
  readonly signal: AbortSignal;
}

function askedScopes({ prompt }: Interaction): [string, readonly string[]][] {
  return Object.entries(prompt.details.missingResourceScopes ?? {});
}

async function readForm({ req }: KoaContext): Promise<URLSearchParams> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk);
  return new URLSearchParams(Buffer.concat(chunks).toString());
}

const codeProblems = { NotFoundError: true, ExpiredError: true, AlreadyUsedError: true, NoCodeError: true };

/** The pages of the device grant, as the provider's `deviceFlow` takes them (RFC 8628). */
export function createDevicePages({ pages, limiter, addressOf, show }: {
  readonly pages: Pages;
  /** Counts codes that were not right. */
  readonly limiter: RateLimiter;
  readonly addressOf: (context: KoaContext) => string;
  readonly show: (context: KoaContext, page: Page) => void;
}) {
  const action = (context: KoaContext) => context.oidc.urlFor("code_verification");
  const secret = (context: KoaContext) => context.oidc.session?.state?.secret ?? "";
  return {
    mask: "****-****",
    charset: "base-20",
    deviceInfo: () => ({}),
    async userCodeInputSource(
      context: KoaContext,
      _form: string,
      _out: unknown,
      error?: Error & { userCode?: string },
    ) {
      const address = addressOf(context);
      const { session } = context.oidc;
      if (error !== undefined && session?.exp === undefined) {
        // there is nothing yet in which the secret of another form could be kept
        if (session !== undefined) session.touched = false;
        return show(context, pages.error(400, interactionGone));
      }
      if (error?.name === "AbortedError") {
        return show(
          context,
          pages.done("Access denied", "The device gets no access. You can close this page."),
        );
      }
      if (error?.name === "NotFoundError") await limiter.recordFailed(address);
      const typed = error?.userCode ?? context.query[codeParameter];
      const problem = error &&
        (error.name in codeProblems
          ? "This code is wrong, has expired, or was used. Begin anew on your device."
          : "This did not work. Begin anew on your device.");
      show(
        context,
        pages.deviceCode({
          action: action(context),
          secret: secret(context),
          ...(typeof typed === "string" ? { code: typed.slice(0, 40) } : {}),
          ...defined({ problem }),
        }),
      );
    },
    userCodeConfirmSource(
      context: KoaContext,
      _form: string,
      _client: unknown,
      _info: unknown,
      code: string,
    ) {
      const client = shownClient(context.oidc.client);
      show(
        context,
        pages.deviceConfirmation({ action: action(context), secret: secret(context), code, client }),
      );
    },
    successSource: (context: KoaContext) =>
      show(context, pages.done("Access allowed", "Go back to your device. You can close this page.")),
  };
}
