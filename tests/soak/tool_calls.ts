import { password } from "../support/accounts.ts";
import { type Answer, exchange } from "./exchange.ts";
import type { Effect, Ledger } from "./ledger.ts";

/** What a tool gave, or why it gave nothing. */
export type ToolAnswer = Answer & {
  readonly rows: readonly (readonly unknown[])[] | undefined;
  readonly error: string | undefined;
};

/** Calls a tool; undefined as `exchange` does. */
export async function callTool(
  ledger: Ledger,
  url: string,
  token: string | undefined,
  tool: string,
  args: Readonly<Record<string, unknown>>,
): Promise<ToolAnswer | undefined> {
  const name = `${tool} ${JSON.stringify(args)} with ${shown(token)}`;
  const answer = await exchange(ledger, name, `${url}/mcp/v1`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: tool, arguments: args },
    }),
  });
  if (answer === undefined) return undefined;
  if (answer.status === 401) return { ...answer, rows: undefined, error: undefined };
  let body;
  try {
    body = JSON.parse(answer.text);
  } catch {
    ledger.fail(`${name} had a reply that is no JSON: ${answer.status} ${answer.text}`);
    return undefined;
  }
  const error = body.error?.message ?? (body.result?.isError ? body.result.content[0].text : undefined);
  return { ...answer, error, rows: body.result?.structuredContent?.rows };
}

/** Whether a tool failed because of a fault: its database was away, or what the servers share. */
export function isFailed(ledger: Ledger, { error, sentAt, at }: ToolAnswer): boolean {
  if (error === undefined) return false;
  const effects: Effect[] = stateIsAway.test(error) ? ["refuses", "breaks"] : ["breaks", "fails statements"];
  const isExplained = effects.some((effect) => ledger.near(effect, sentAt, at).length > 0);
  if (isExplained) ledger.count("failed tools");
  return isExplained;
}

export const stateIsAway = /what the servers share cannot be reached/;

/** A token in a message: enough to find it again. */
export const shown = (token: string | undefined) =>
  token === undefined ? "no token" : `a token ${token.slice(0, 6)}…`;

/** Asks for a token's statement, which must give one row of these values; false where there was no answer. */
export async function expectRow(
  ledger: Ledger,
  { url, token, who, query, database, expected }: {
    readonly url: string;
    readonly token: string;
    readonly who: string;
    readonly query: string;
    /** The current one where it is absent. */
    readonly database?: string;
    /** One of them. */
    readonly expected: readonly (readonly unknown[])[];
  },
): Promise<boolean> {
  const args = { query, ...(database === undefined ? {} : { database }) };
  const answer = await callTool(ledger, url, token, "query_database", args);
  if (answer === undefined) return false;
  const what = `${JSON.stringify(args)} of ${who}, ${shown(token)}, was answered`;
  if (answer.status === 401) {
    ledger.fail(`${what} with 401, though the token is good: ${answer.text}`);
    return false;
  }
  if (answer.error !== undefined) {
    if (!isFailed(ledger, answer)) ledger.fail(`${what} with an error: ${answer.error}`);
    return false;
  }
  const got = JSON.stringify(answer.rows);
  if (!expected.some((row) => JSON.stringify([row]) === got)) {
    ledger.fail(`${what} with ${got} and not ${expected.map((row) => JSON.stringify([row])).join(" or ")}`);
  }
  ledger.count("rows checked");
  return true;
}

/** A statement whose answer is of one database and one request. */
export function whereAmI(): { readonly query: string; readonly row: (database: string) => unknown[] } {
  const nonce = crypto.randomUUID();
  return { query: `SELECT '${nonce}' AS nonce, name FROM place`, row: (database) => [nonce, database] };
}

/** A session's token; undefined where there was none to be had now. */
export async function logIn(ledger: Ledger, url: string, username: string): Promise<string | undefined> {
  const answer = await callTool(ledger, url, undefined, "authenticate_user", { username, password });
  if (answer === undefined) return undefined;
  const token = /\\"session_token\\": ?\\"([^"\\]+)\\"/.exec(answer.text)?.[1];
  if (token === undefined) {
    ledger.fail(`the login of ${username} was answered with ${answer.status} ${answer.text}`);
  } else ledger.count("logins");
  return token;
}
