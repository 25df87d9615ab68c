import { exchange } from "../exchange.ts";
import { type Load, over, pick } from "../load.ts";

/** Asks the RAG server for answers that quote documents, whole and in parts. */
export async function ragCaller(load: Load, token: string): Promise<void> {
  const { fleet, ledger } = load;
  const url = `${fleet.balancer.rag}/v1/pipelines/pages`;
  await over(load, "RAG", 600, async () => {
    const document = pick(load, fleet.documents);
    const query = document.split(" ").slice(0, 3).join(" ");
    const stream = load.random() < 0.6;
    const name = `the question ${JSON.stringify(query)}${stream ? ", streamed," : ""}`;
    const answer = await exchange(ledger, name, url, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ query, stream }),
    });
    if (answer === undefined) return;
    const { status, text, sentAt, at } = answer;
    if (status !== 200) return ledger.fail(`${name} was answered with ${status} ${text}`);
    if (!stream) {
      if (!text.includes(document)) ledger.fail(`${name} was answered with ${text}`);
      return ledger.count("questions");
    }
    const events = [...text.matchAll(/^data: (.+)$/gm)].map(([, line = "{}"]) => JSON.parse(line));
    const said = events.filter(({ type }) => type === "chunk").map(({ content }) => content).join("");
    const ends = events.filter(({ type }) => type !== "chunk");
    ledger.count("streamed answers");
    const isCut = ledger.near("breaks", sentAt, at).length > 0;
    if (ends.length === 0 && isCut) return ledger.count("broken streams");
    if (ends.length !== 1 || events.at(-1) !== ends[0]) return ledger.fail(`${name} had the end of ${text}`);
    if (ends[0].type !== "done" && isCut) return ledger.count("broken streams");
    if (!said.includes(document)) ledger.fail(`${name} was answered with ${text}`);
  });
}
