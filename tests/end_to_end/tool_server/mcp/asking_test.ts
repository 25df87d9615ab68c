import assert from "node:assert/strict";
import { Client, type ElicitResult, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createVendor, type Vendor } from "../../../llm/wire/vendors/vendor.ts";
import { assertHas } from "../../../support/assert_has.ts";
import {
  createConfigFolder,
  databaseEntry,
  startConfiguredServer,
} from "../../../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../../../support/database.ts";
import { commandLine } from "../../../support/server_process.ts";

const schema = `
  CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL);
  INSERT INTO customers VALUES (1, 'Ann'), (2, 'Bo');
  CREATE SCHEMA archive;
  CREATE TABLE archive.customers (id int PRIMARY KEY, name text NOT NULL);`;

const request = "Who are our best customers?";
const question = "QUESTION: Best by what?\n- revenue\n- number of orders";
const statement = "```sql\nSELECT name FROM customers ORDER BY id\n```";
const key = "sk-ant-api03-KeyOfThisTest-0123456789";

const llm = (vendor: Vendor) =>
  `llm: { provider: anthropic, model: claude-sonnet-4-5, anthropic_base_url: "${vendor.url}", anthropic_api_key: ${key} }\n`;

/** A client whose user is asked in `ask`; without it, one that cannot ask. */
function createClient(
  mode: "auto" | "legacy",
  ask?: (message: string, form: unknown) => ElicitResult,
): Client {
  const capabilities = ask === undefined ? {} : { elicitation: { form: {} } };
  const client = new Client({ name: "test", version: "1" }, { capabilities, versionNegotiation: { mode } });
  if (ask !== undefined) {
    client.setRequestHandler("elicitation/create", ({ params }) => {
      assert.ok("requestedSchema" in params);
      return ask(params.message, params.requestedSchema);
    });
  }
  return client;
}

const accept = (content: Record<string, string>): ElicitResult => ({ action: "accept", content });
const textOf = (result: Awaited<ReturnType<Client["callTool"]>>): string =>
  result.content[0]?.type === "text" ? result.content[0].text : "";

function lastRequest(vendor: Vendor): string {
  const body = vendor.requests.filter(({ method }) => method === "POST").at(-1)?.body;
  const { messages } = body as { messages: { content: unknown }[] };
  return JSON.stringify(messages.at(-1)?.content);
}

testWithPostgres("a question back reaches the user of a client that can ask", async (t) => {
  await using database = await createTestDatabase();
  await database.query(schema);
  let replies: string[] = [];
  await using vendor = createVendor("anthropic", { key, answer: () => replies.shift() ?? "" });
  const config = `databases: [${databaseEntry("shop", database.name)}]\n${llm(vendor)}`;
  await using running = await startConfiguredServer(config);
  await using folder = await createConfigFolder(config);

  const transports = {
    "Streamable HTTP": () =>
      new StreamableHTTPClientTransport(new URL(`${running.server.url}/mcp/v1`), {
        requestInit: { headers: { authorization: `Bearer ${running.token}` } },
      }),
    stdio: () => new StdioClientTransport({ ...commandLine(["-config", folder.configFile]), stderr: "pipe" }),
  };
  async function call(client: Client, transport: keyof typeof transports, query = request) {
    await client.connect(transports[transport]());
    try {
      return await client.callTool({ name: "query_database", arguments: { query } });
    } finally {
      await client.close();
    }
  }
  const askers = [
    ["Streamable HTTP", "auto"],
    ["stdio", "auto"],
    // before 2026-07-28 the server asks over the connection itself
    ["stdio", "legacy"],
  ] as const;

  for (const [transport, mode] of askers) {
    await t.step(`${transport}, ${mode}: the request runs with the answer`, async () => {
      replies = [question, statement];
      const asked: unknown[] = [];
      const client = createClient(mode, (message, form) => {
        asked.push(message, form);
        return accept({ choice: "revenue" });
      });
      const result = await call(client, transport);
      assertHas(result.structuredContent, { rows: [["Ann"], ["Bo"]] });
      assert.deepEqual(asked, [
        "The model that writes the SQL statement asks, in its own words. Enter no passwords or keys.\n\n" +
        "Best by what?\n- revenue\n- number of orders",
        {
          type: "object",
          properties: {
            choice: { type: "string", title: "Choice", enum: ["revenue", "number of orders"] },
            answer: { type: "string", title: "Or in your words", maxLength: 1000 },
          },
          required: [],
        },
      ]);
      assert.match(lastRequest(vendor), /Who are our best customers\?\\n\\nTo what you asked: revenue/);
      // the model sees what it asked as its own words
      assert.match(JSON.stringify(vendor.requests.at(-1)?.body), /QUESTION: Best by what\?/);
    });

    await t.step(`${transport}, ${mode}: who declines or cancels gets a clear end`, async () => {
      for (
        const [action, text] of [["decline", /the user declined/], ["cancel", /the user closed/]] as const
      ) {
        replies = [question, statement];
        const result = await call(createClient(mode, () => ({ action })), transport);
        assert.equal(result.isError, true);
        assert.match(textOf(result), text);
        assert.deepEqual(replies, [statement]);
      }
    });
  }

  await t.step("an answer that is SQL is a part of the request and does not run", async () => {
    replies = [question, statement];
    const client = createClient("auto", () => accept({ answer: "SELECT 'ran as it is'" }));
    assertHas((await call(client, "Streamable HTTP")).structuredContent, { rows: [["Ann"], ["Bo"]] });
  });

  await t.step("after three questions the model's next one comes as text", async () => {
    replies = [question, question, question, question, statement];
    let asked = 0;
    const client = createClient("auto", () => accept({ answer: `answer ${++asked}` }));
    const result = await call(client, "Streamable HTTP");
    assert.equal(asked, 3);
    assertHas(result.structuredContent, { question: "Best by what?\n- revenue\n- number of orders" });
  });

  await t.step("a client that asks for it is told of each step", async () => {
    replies = ["```sql\nSELECT nam FROM customers\n```", statement];
    const client = createClient("auto");
    await client.connect(transports["Streamable HTTP"]());
    const told: unknown[] = [];
    const onprogress = (step: unknown) => told.push(step);
    await client.callTool({ name: "query_database", arguments: { query: request } }, { onprogress });
    await client.close();
    assert.deepEqual(told, [
      { progress: 0, total: 4, message: "Reading the catalog" },
      { progress: 1, total: 4, message: "Asking the model" },
      { progress: 2, total: 4, message: "Planning the statement" },
      { progress: 3, total: 6, message: "Asking the model" },
      { progress: 4, total: 6, message: "Planning the statement" },
      { progress: 5, total: 6, message: "Running the statement" },
    ]);
  });

  await t.step("who cannot be asked gets the question as text", async () => {
    const others = [
      ["auto", undefined],
      ["legacy", undefined],
      // a server without a connection of its own cannot ask over HTTP before 2026-07-28
      ["legacy", () => assert.fail("asked")],
    ] as const;
    for (const [mode, ask] of others) {
      replies = [question];
      const result = await call(createClient(mode, ask), "Streamable HTTP");
      assert.match(
        textOf(result),
        /^The request needs an answer first\. .*\n<data-[0-9a-f]{32}>\nBest by what\?/s,
      );
    }
    replies = [question];
    const { text } = await running.client.call("query_database", { query: request });
    assert.match(text, /^The request needs an answer first\./);
  });
});
