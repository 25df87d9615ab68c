import { hers, people } from "../fleet.ts";
import { type Load, over, pick } from "../load.ts";
import { callTool, expectRow, isFailed, logIn, whereAmI } from "../tool_calls.ts";
import { chooseAndAsk, mustNotUse } from "./sql.ts";

/** Sessions that go on for as long as the run does. */
const mostKept = 12;

/** A user logs in, asks, and logs out; some sessions stay, and must be good to the end. */
export async function sessionCaller(load: Load, username: string): Promise<void> {
  const { fleet, ledger } = load;
  const url = fleet.balancer.tools;
  const kept: string[] = [];
  await over(load, `session of ${username}`, 400, async () => {
    const token = await logIn(ledger, url, username);
    if (token === undefined) return;
    await askAsUser(load, token, username);
    if (load.random() < 0.4) await chooseAndAsk(load, token, username);
    for (let each = 0; each < 4; each++) await askAsUser(load, token, username);
    if (kept.length === 0 || (kept.length < mostKept && load.random() < 0.5)) kept.push(token);
    else await logOut(load, token);
    await askAsUser(load, pick(load, kept), username);
  });
  for (const token of kept) await askAsUser(load, token, username);
}

/** One of the questions whose answer depends on who asks. */
export async function askAsUser(load: Load, token: string, username: string): Promise<boolean> {
  const { fleet, ledger } = load;
  const url = fleet.balancer.tools;
  const kind = load.random();
  if (kind < 0.4) {
    const nonce = crypto.randomUUID();
    const query = `SELECT '${nonce}' AS nonce, place.name, notes.text FROM place, notes`;
    const expected = [[nonce, people, `of ${username}`]];
    return await expectRow(ledger, { url, token, who: username, query, database: people, expected });
  }
  if (kind < 0.55) {
    if (username !== "alice") {
      await mustNotUse(load, token, hers);
      return true;
    }
    const { query, row } = whereAmI();
    return await expectRow(ledger, {
      url,
      token,
      who: username,
      query,
      database: hers,
      expected: [row(hers)],
    });
  }
  const database = pick(load, fleet.open);
  if (kind < 0.7) {
    const query = `what is this place called, in the database ${database}`;
    return await expectRow(ledger, { url, token, who: username, query, database, expected: [[database]] });
  }
  const { query, row } = whereAmI();
  return await expectRow(ledger, { url, token, who: username, query, database, expected: [row(database)] });
}

async function logOut({ fleet, ledger, ended }: Load, token: string): Promise<void> {
  const answer = await callTool(ledger, fleet.balancer.tools, token, "logout", {});
  // whether it has ended nobody knows
  if (answer === undefined || isFailed(ledger, answer)) return;
  if (answer.status !== 200 || answer.error !== undefined) {
    ledger.fail(`a logout was answered with ${answer.status} ${answer.text}`);
  }
  ledger.count("logouts");
  ended.push({ token, how: "a logout", at: answer.at });
}
