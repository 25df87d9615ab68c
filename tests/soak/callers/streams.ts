import { messagesOf, postMcp } from "../../support/mcp_request.ts";
import { broken } from "../exchange.ts";
import { type Load, over, pause } from "../load.ts";
import { callTool, isFailed, logIn } from "../tool_calls.ts";

/** How long a stream may go on after its session has ended. */
const longestMs = 30_000;

/** Sessions that listen for changes, until they log out or their server stops: each stream has one end. */
export async function streamCaller(load: Load, username: string): Promise<void> {
  const { fleet, ledger } = load;
  const url = fleet.balancer.tools;
  await over(load, "stream", 500, async () => {
    const token = await logIn(ledger, url, username);
    if (token === undefined) return;
    const id = crypto.randomUUID();
    const controller = new AbortController();
    const openedAt = Date.now();
    const opened = Promise.withResolvers<void>();
    let isOpen = false;
    const ends = readEnds(load, token, id, controller.signal, () => {
      isOpen = true;
      opened.resolve();
    });
    const logOut = async () => {
      const answer = await callTool(ledger, url, token, "logout", {});
      return answer !== undefined && !isFailed(ledger, answer);
    };
    const ended = ends.then(() => {}, () => {});
    await Promise.race([ended, opened.promise]);
    await Promise.race([ended, pause(load, 3_000 + 12_000 * load.random())]);
    // its stream may have ended with its server
    while (!await logOut()) await pause(load, 300);
    load.ended.push({ token, how: "the logout of a stream", at: Date.now() });
    const timer = setTimeout(() => controller.abort(new Error("it did not end")), longestMs);
    const [count, error] = await ends.then((ends) => [ends, undefined], (error) => [0, error]);
    clearTimeout(timer);
    if (!isOpen) return;
    ledger.count("streams");
    if (error !== undefined) broken(ledger, `the stream ${id} of ${username}`, openedAt, String(error));
    else if (count === 0 && ledger.near("breaks", openedAt, Date.now()).length > 0) {
      ledger.count("broken streams");
    } else if (count !== 1) ledger.fail(`the stream ${id} of ${username} had ${count} ends`);
  });
}

/** Listens to its end, and resolves with how many messages said that it has ended. */
async function readEnds(
  { fleet, ledger }: Load,
  token: string,
  id: string,
  signal: AbortSignal,
  onOpen: () => void,
): Promise<number> {
  const sentAt = Date.now();
  ledger.count("requests");
  const response = await postMcp(`${fleet.balancer.tools}/mcp/v1`, "modern", "subscriptions/listen", {
    notifications: { toolsListChanged: true },
  }, { id, headers: { authorization: `Bearer ${token}`, connection: "close" }, signal }).catch((error) =>
    broken(ledger, `opening the stream ${id}`, sentAt, String(error))
  );
  if (response === undefined) return 0;
  if (response.status !== 200) {
    const text = await response.text();
    if (response.status === 503 && ledger.near("refuses", sentAt, Date.now()).length > 0) ledger.count("503");
    else if (response.status === 502) {
      broken(ledger, `opening the stream ${id}`, sentAt, "502 of the balancer");
    } else ledger.fail(`opening the stream ${id} was answered with ${response.status} ${text}`);
    return 0;
  }
  onOpen();
  let ends = 0;
  for await (const message of messagesOf(response)) {
    if (ends > 0) ledger.fail(`the stream ${id} went on after its end with ${JSON.stringify(message)}`);
    if (message.id === id) ends++;
  }
  return ends;
}
