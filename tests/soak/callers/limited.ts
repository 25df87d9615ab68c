import { callsPerMinute, processes } from "../fleet.ts";
import { type Load, over } from "../load.ts";
import { callTool, whereAmI } from "../tool_calls.ts";

const minuteMs = 60_000;
/** Calls so near to the boundary of a minute may count to either. */
const nearBoundaryMs = 1_500;

/** One caller calls more often than it may; each minute is looked at once it is over. */
export async function limitedCaller(load: Load): Promise<void> {
  const { fleet, ledger } = load;
  const url = fleet.balancer.tools;
  const token = fleet.tokens.limited;
  const answered: number[] = [];
  await over(load, "limited token", 250, async () => {
    const { query, row } = whereAmI();
    const answer = await callTool(ledger, url, token, "query_database", { query, database: "app" });
    if (answer === undefined) return;
    const { status, error, rows, text } = answer;
    if (status === 429) return ledger.count("429");
    if (rows !== undefined) {
      answered.push(answer.at);
      if (JSON.stringify(rows) !== JSON.stringify([row("app")])) {
        ledger.fail(`${query} was answered with ${text}`);
      }
    } else if (status === 401) ledger.fail(`the limited token was refused: ${text}`);
    else if (ledger.near("breaks", answer.sentAt, answer.at).length === 0) {
      ledger.fail(`the limited token's ${query} failed: ${status} ${error}`);
    }
  });
  const minutes = new Set(answered.map((at) => Math.floor(at / minuteMs)));
  for (const minute of minutes) checkMinute(load, answered, minute * minuteMs);
}

function checkMinute({ fleet, ledger }: Load, answered: readonly number[], from: number): void {
  const to = from + minuteMs;
  const inside = answered.filter((at) => at >= from + nearBoundaryMs && at < to - nearBoundaryMs);
  const perSecond = Math.max(
    0,
    ...inside.map((at) => inside.filter((other) => other >= at && other < at + 1_000).length),
  );
  const all = processes * fleet.replicas.length;
  // one that does not know what others count, counts on alone
  const isolated = ledger.near("isolates", from, to).reduce((sum, trouble) => sum + trouble.isolated, 0);
  // what the last second of a process that is killed counted is lost
  const killed = ledger.near("breaks", from, to).length * processes;
  const most = callsPerMinute * (1 + Math.min(all, isolated)) + perSecond * (all + killed);
  ledger.count("minutes of the limit");
  if (inside.length > most) {
    ledger.fail(
      `the token with calls_per_minute ${callsPerMinute} had ${inside.length} calls answered in the minute ` +
        `from ${new Date(from).toISOString()}, of ${most} at most (${perSecond} in one second)`,
    );
  }
}
