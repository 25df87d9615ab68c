import { exchange } from "../exchange.ts";
import { graceMs } from "../fleet.ts";
import { type Ended, type Load, over, pick } from "../load.ts";
import { shown } from "../tool_calls.ts";

/** Within which others learn that something has ended. */
const knownMs = 1_000;

/** Looks whether what has ended stays ended, the newest above all. */
export async function endedCaller(load: Load): Promise<void> {
  await over(load, "ended tokens", 300, async () => {
    const { ended } = load;
    if (ended.length === 0) return;
    await mustBeRefused(load, load.random() < 0.7 ? pick(load, ended.slice(-4)) : pick(load, ended));
  });
  for (const one of load.ended.slice(-40)) await mustBeRefused(load, one);
}

async function mustBeRefused({ fleet, ledger }: Load, { token, how, at }: Ended): Promise<void> {
  const name = `ping with ${shown(token)} that ${how} has ended`;
  const answer = await exchange(ledger, name, `${fleet.balancer.tools}/mcp/v1`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
  });
  if (answer === undefined || answer.status === 401) return ledger.count("ended tokens refused");
  if (answer.status !== 200) return ledger.fail(`${name} was answered with ${answer.status} ${answer.text}`);
  const isIsolated = ledger.near("isolates", at - knownMs, answer.at).length > 0;
  const allowedMs = knownMs + ledger.lagMs() + (isIsolated ? graceMs : 0);
  const since = answer.sentAt - at;
  if (since <= allowedMs) return ledger.count("ended tokens let in meanwhile");
  ledger.fail(`${name} ${since} ms before was let in, of ${allowedMs} ms that it may be`);
}
