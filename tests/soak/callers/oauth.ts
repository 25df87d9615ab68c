import { password } from "../../support/accounts.ts";
import { createFormBrowser, oauthClientOf, post, redirectUri } from "../../support/oauth_server.ts";
import { broken } from "../exchange.ts";
import { type Load, over, pause, pick } from "../load.ts";
import { askAsUser } from "./sessions.ts";

interface Grant {
  readonly client: ReturnType<typeof oauthClientOf>;
  readonly username: string;
  access: string;
  refresh: string;
}

const mostGrants = 6;
/** An address may begin 600 logins an hour, and register 60 clients. */
const loginEveryMs = 8_000;
const registerEveryMs = 90_000;

/** Applications that act for users: each step of a login at whichever replica, refreshing, revoking. */
export async function oauthCaller(load: Load): Promise<void> {
  const { fleet } = load;
  let client: Grant["client"] | undefined;
  let registeredAt = -Infinity;
  let loggedInAt = -Infinity;
  const grants: Grant[] = [];
  await over(load, "OAuth", 400, async () => {
    const now = Date.now();
    if (client === undefined || now - registeredAt > registerEveryMs) {
      registeredAt = now;
      client = await register(load) ?? client;
    } else if (grants.length < mostGrants && now - loggedInAt > loginEveryMs) {
      loggedInAt = now;
      const grant = await logIn(load, client, pick(load, fleet.users));
      if (grant !== undefined) grants.push(grant);
    } else if (grants.length > 0) {
      const grant = pick(load, grants);
      const kind = load.random();
      if (kind < 0.7) await askAsUser(load, grant.access, grant.username);
      else if (kind < 0.95) {
        if (!await refresh(load, grant)) grants.splice(grants.indexOf(grant), 1);
      } else {
        await revoke(load, grant);
        grants.splice(grants.indexOf(grant), 1);
      }
    }
  });
  for (const { access, username } of grants) await askAsUser(load, access, username);
}

/** Whether a reply is another one than was hoped for. Without a fault that explains it, it is a wrong. */
function isUnanswered(
  { ledger }: Load,
  name: string,
  { status, headers, text }: { status: number; headers: Headers; text: string },
  expected: number,
  sentAt: number,
): boolean {
  ledger.count("requests");
  if (status === expected) return false;
  if (status === 502 || status === 504) broken(ledger, name, sentAt, `${status} of the balancer`);
  else if (
    status === 503 && headers.has("retry-after") && ledger.near("refuses", sentAt, Date.now()).length > 0
  ) {
    ledger.count("503");
  } else ledger.fail(`${name} was answered with ${status} ${text.slice(0, 500)}`);
  return true;
}

async function register(load: Load): Promise<Grant["client"] | undefined> {
  const issuer = load.fleet.balancer.tools;
  const sentAt = Date.now();
  const registered = await post(`${issuer}/oauth/register`, {
    redirect_uris: [redirectUri],
    client_name: "Soak",
  });
  if (isUnanswered(load, "registering a client", inText(registered), 201, sentAt)) return undefined;
  return oauthClientOf(issuer, String(registered.body["client_id"]));
}

const inText = ({ status, headers, body }: Awaited<ReturnType<typeof post>>) => ({
  status,
  headers,
  text: JSON.stringify(body),
});

async function logIn(load: Load, client: Grant["client"], username: string): Promise<Grant | undefined> {
  const { ledger } = load;
  const browser = createFormBrowser(load.fleet.balancer.tools);
  const isLost = (
    step: string,
    page: { status: number; headers: Headers; html: string },
    sentAt: number,
    ok = 200,
  ) => isUnanswered(load, `OAuth's ${step}`, { ...page, text: page.html }, ok, sentAt);
  let sentAt = Date.now();
  const form = await browser.open(client.authorizeUrl());
  if (isLost("login page", form, sentAt)) return undefined;
  sentAt = Date.now();
  const consent = await browser.submit(form, { username, password, action: "login" });
  if (isLost("login", consent, sentAt)) return undefined;
  sentAt = Date.now();
  // the browser stops at the client's address
  const done = await browser.submit(consent, { action: "allow" });
  if (isLost("consent", done, sentAt, 0)) return undefined;
  const code = new URL(done.url).searchParams.get("code") ?? "";
  sentAt = Date.now();
  const given = await client.exchange(code);
  if (isUnanswered(load, "exchanging a code", inText(given), 200, sentAt)) return undefined;
  ledger.count("grants");
  return {
    client,
    username,
    access: String(given.body["access_token"]),
    refresh: String(given.body["refresh_token"]),
  };
}

/** False where the grant is gone: its token was used up, and the reply with the next one was lost on the way. */
async function refresh(load: Load, grant: Grant): Promise<boolean> {
  const { ledger } = load;
  let isUncertain = false;
  while (!load.stopping.aborted) {
    const sentAt = Date.now();
    let answer;
    try {
      answer = await grant.client.refresh(grant.refresh);
    } catch (error) {
      isUncertain = true;
      broken(ledger, "refreshing a token", sentAt, String(error));
      await pause(load, 300);
      continue;
    }
    // a token that was used twice ends its grant
    if (answer.status === 400 && isUncertain) {
      ledger.count("grants lost in the middle of a refresh");
      return false;
    }
    // of a 503 too: the state's answer may have been lost on its way (docs/replicas.md)
    if (answer.status >= 500) isUncertain = true;
    if (!isUnanswered(load, `refreshing a token for ${grant.username}`, inText(answer), 200, sentAt)) {
      grant.access = String(answer.body["access_token"]);
      grant.refresh = String(answer.body["refresh_token"]);
      ledger.count("refreshed");
      return true;
    }
    if (answer.status === 400) return false;
    await pause(load, 300);
  }
  return !isUncertain;
}

async function revoke(load: Load, grant: Grant): Promise<void> {
  const sentAt = Date.now();
  const answer = await grant.client.revoke(grant.refresh);
  if (isUnanswered(load, "revoking a token", inText(answer), 200, sentAt)) return;
  load.ledger.count("revoked");
  load.ended.push({ token: grant.access, how: "revoking", at: Date.now() });
}
