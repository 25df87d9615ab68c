/**
 * How long one request of one caller keeps the servers from answering anybody else: the longest wait of `/health` and
 * `/v1/live`, asked all the time, while requests are answered that were made to be slow. Each is sent three times, and the
 * quickest is told, since the machine has other things to do.
 *
 *   TEST_DATABASE_URL=postgres://… deno task bench:held-up [part of a name]
 */
import { databaseEntry, startConfiguredServer } from "../tests/support/configured_server.ts";
import { createHandbookDatabase, pagesTable } from "../tests/support/handbook_documents.ts";
import { pipelineDatabase, startRagServer } from "../tests/support/rag_server.ts";
import { createVendor } from "../tests/llm/wire/vendors/vendor.ts";
import { topicVector } from "../tests/support/handbook_documents.ts";
import { print } from "./measure.ts";
import { queryBodies, toolBodies } from "./held_up_bodies.ts";

const rounds = 3;
const wanted = Deno.args[0] ?? "";

await using database = await createHandbookDatabase();

async function longestWait(probe: string, work: () => Promise<unknown>): Promise<number> {
  let isDone = false;
  let longest = 0;
  const probing = (async () => {
    while (!isDone) {
      const startedAt = performance.now();
      await (await fetch(probe)).arrayBuffer();
      longest = Math.max(longest, performance.now() - startedAt);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  })();
  await new Promise((resolve) => setTimeout(resolve, 20));
  await work();
  isDone = true;
  await probing;
  return longest;
}

async function measure(
  name: string,
  options: { url: string; probe: string; headers: Record<string, string>; body: string },
): Promise<void> {
  if (!name.includes(wanted)) return;
  const body = new TextEncoder().encode(options.body);
  let best = Infinity;
  let reply = "";
  for (let round = 0; round < rounds; round++) {
    const wait = await longestWait(options.probe, async () => {
      const startedAt = performance.now();
      const response = await fetch(options.url, { method: "POST", headers: options.headers, body });
      const text = await response.text();
      const took = (performance.now() - startedAt).toFixed(0);
      reply = `${response.status}, ${took} ms, ${text.length} characters: ${text.slice(0, 160)}`;
    });
    best = Math.min(best, wait);
  }
  print(name, `${best.toFixed(0).padStart(6)} ms   ${reply.replaceAll("\n", " ")}`);
}

const manyTables = `DO $$ BEGIN FOR i IN 1..500 LOOP
  EXECUTE format('CREATE TABLE shop_%s (id int, customer_id int, customers text, bought_on date, price_%s text)', i, i);
END LOOP; END $$`;
const longReply = `\`\`\`sql\nSELECT ${Array(6_000).fill("x::int").join()}\n\`\`\``;

async function toolServer(): Promise<void> {
  await database.query(manyTables);
  await using vendor = createVendor("anthropic", { answer: () => longReply });
  await using running = await startConfiguredServer(
    `databases: [${databaseEntry("main", database.name)}]\naudit: { file: audit.log }\n` +
      `llm: { provider: anthropic, model: m, anthropic_base_url: "${vendor.url}", anthropic_api_key: key }`,
  );
  const { server, token } = running;
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  for (const [name, body] of Object.entries(toolBodies)) {
    const at = { url: `${server.url}/mcp/v1`, probe: `${server.url}/health` };
    await measure(name, { ...at, headers, body });
    await measure(`${name}, streamable`, {
      ...at,
      headers: { ...headers, accept: "application/json, text/event-stream" },
      body,
    });
  }
}

async function ragServer(): Promise<void> {
  await using openai = createVendor("openai", { embed: topicVector });
  await using anthropic = createVendor("anthropic", { answer: () => ["Yes."] });
  await using rag = await startRagServer({
    pipelines: [{
      name: "handbook",
      database: pipelineDatabase(database),
      tables: [pagesTable],
      embedding_llm: { provider: "openai", model: "e", base_url: openai.url },
      rag_llm: { provider: "anthropic", model: "m", base_url: anthropic.url },
    }],
  });
  const url = rag.process.url;
  for (const [name, body] of Object.entries(queryBodies)) {
    await measure(`rag: ${name}`, {
      url: `${url}/v1/pipelines/handbook`,
      probe: `${url}/v1/live`,
      headers: { "content-type": "application/json" },
      body,
    });
  }
}

await toolServer();
await ragServer();
