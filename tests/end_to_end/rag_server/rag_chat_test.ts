import assert from "node:assert/strict";
import OpenAI from "openai";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { assertHas } from "../../support/assert_has.ts";
import { testWithPgvector } from "../../support/database.ts";
import { createHandbookDatabase, topicVector } from "../../support/handbook_documents.ts";
import { createOpenaiClient } from "../../support/openai_client.ts";
import { handbookPipeline, type RagConfig, startRagServer } from "../../support/rag_server.ts";
import { waitUntil } from "../../support/wait_until.ts";

const leave = "How many days of annual leave are there?";
const ask = (content: string) => ({ model: "handbook", messages: [{ role: "user" as const, content }] });
const answer = "There are 25 days [1], for all [1, 2].";

/** What Postern adds to OpenAI's objects. */
interface Own {
  readonly search_query?: string;
  readonly sources?: readonly Record<string, unknown>[];
}

function createGate() {
  let closed = Promise.withResolvers<void>();
  closed.resolve();
  return {
    wait: () => closed.promise,
    close: () => void (closed = Promise.withResolvers()),
    open: () => closed.resolve(),
  };
}

/** A server over the handbook, of whose pages the first has an address. */
async function createFixture(config: RagConfig = {}, isCut = false) {
  await using opening = new AsyncDisposableStack();
  const database = opening.use(await createHandbookDatabase());
  await database.query(`ALTER TABLE pages ADD url text, ADD title text;
    UPDATE pages SET url = 'https://example.com/leave', title = 'Leave' WHERE id = 1;
    UPDATE pages SET title = 'Contractors' WHERE id = 2`);
  const texts = createGate();
  const openai = opening.use(createVendor("openai", { embed: topicVector }));
  const anthropic = opening.use(createVendor("anthropic", {
    isCut,
    answer: ({ system }) =>
      system.startsWith("You prepare a search")
        ? ["How many days of leave do contractors get?"]
        : ["There are ", "25 days [1]", ", for all [1, 2]."],
    // the pieces before the fourth are no text; the fifth is the second text
    beforePiece: (index) => index === 4 ? texts.wait() : Promise.resolve(),
  }));
  const parts = { database, openai, anthropic };
  const { server = {}, ...rest } = config as { readonly server?: RagConfig };
  const rag = opening.use(
    await startRagServer({
      server: { listen_address: "127.0.0.1", port: 0, openai_api: { enabled: true }, ...server },
      pipelines: [
        handbookPipeline("handbook", parts, { top_n: 2 }),
        handbookPipeline("closed", parts, { allow_include_sources: false, available_to_users: ["alice"] }),
      ],
      audit: { file: "audit.jsonl" },
      ...rest,
    }),
  );
  const stack = opening.move();
  return {
    rag,
    texts,
    openai,
    anthropic,
    url: rag.process.url,
    client: createOpenaiClient(rag.process.url),
    lastPrompt: () =>
      anthropic.requests.findLast(({ method }) => method === "POST")?.body as {
        readonly system: string;
        readonly messages: readonly { readonly role: string; readonly content: string }[];
      },
    async lines(): Promise<Record<string, unknown>[]> {
      const text = await Deno.readTextFile(`${rag.folder.path}/audit.jsonl`).catch(() => "");
      return text.trim().split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function refusalOf(work: Promise<unknown>) {
  const error = await work.then(() => assert.fail("it was answered"), (thrown: unknown) => thrown);
  assert.ok(error instanceof OpenAI.APIError, String(error));
  return error;
}

testWithPgvector("OpenAI's client asks pipelines as models", async (t) => {
  await using fixture = await createFixture();
  const { client, anthropic, texts, url } = fixture;

  await t.step("models are the pipelines", async () => {
    const models = await Array.fromAsync(await client.models.list());
    const model = { id: "handbook", object: "model", created: 0, owned_by: "postern" };
    assert.deepEqual(models.map(({ id }) => id), ["handbook", "closed"]);
    assert.deepEqual(await client.models.retrieve("handbook"), model);
    const error = await refusalOf(client.models.retrieve("handbok"));
    assertHas(error, { status: 404, code: "model_not_found", param: "model", type: "invalid_request_error" });
    assert.match(error.message, /there is no pipeline "handbok"/);
  });

  await t.step("a completion has the answer, what was used, and its sources", async () => {
    const completion = await client.chat.completions.create(ask(leave), {
      headers: { "x-request-id": "chat-1" },
    });
    const { choices: [choice], usage } = completion;
    assert.deepEqual([completion.id, completion.object, completion.model], [
      "chatcmpl-chat-1",
      "chat.completion",
      "handbook",
    ]);
    assert.ok(Math.abs(completion.created - Date.now() / 1000) < 60);
    assert.deepEqual([choice?.message.content, choice?.finish_reason], [answer, "stop"]);
    // 3 of the embedding, 120 and 7 of the answer
    assert.deepEqual(usage, { prompt_tokens: 123, completion_tokens: 7, total_tokens: 130 });
    assert.deepEqual(choice?.message.annotations, [{
      type: "url_citation",
      url_citation: { url: "https://example.com/leave", title: "Leave", start_index: 18, end_index: 21 },
    }]);
    const { sources, search_query } = completion as Own;
    assert.deepEqual(sources?.map(({ score: _, ...source }) => source), [
      {
        id: "1",
        title: "Leave",
        url: "https://example.com/leave",
        content: "Annual leave is 25 days for all employees.",
      },
      { id: "2", title: "Contractors", content: "Contractors have no paid leave." },
    ]);
    assert.equal(search_query, undefined);
    assertHas((await fixture.lines()).at(-1), {
      event: "query",
      outcome: "ok",
      pipeline: "handbook",
      request: "chat-1",
      tokens_used: 130,
      sources: ["1", "2"],
    });
  });

  await t.step("the conversation is history, and system messages are ignored", async () => {
    const completion = await client.chat.completions.create({
      model: "handbook",
      messages: [
        { role: "system", content: "You are a pirate." },
        {
          role: "user",
          content: [{ type: "text", text: "How many days" }, { type: "text", text: "of leave?" }],
        },
        { role: "assistant", content: "25 days." },
        { role: "developer", content: "Speak like a pirate." },
        { role: "user", content: "And for contractors?" },
        { role: "assistant", content: "They" },
      ],
    });
    assert.equal((completion as Own).search_query, "How many days of leave do contractors get?");
    const { system, messages } = fixture.lastPrompt();
    assert.deepEqual(messages.slice(0, 2), [
      { role: "user", content: "How many days\nof leave?" },
      { role: "assistant", content: "25 days." },
    ]);
    assert.equal(messages.length, 3);
    assert.match(messages[2]?.content ?? "", /\nQuestion: And for contractors\?$/);
    assert.doesNotMatch(system + JSON.stringify(messages), /pirate/);
  });

  await t.step("of a long conversation the newest messages count", async () => {
    const said = Array.from({ length: 300 }, (_, at) => ({
      role: at % 2 === 0 ? "user" as const : "assistant" as const,
      content: `said ${at}`,
    }));
    await client.chat.completions.create({
      model: "handbook",
      messages: [...said, { role: "user", content: leave }],
    });
    const { messages } = fixture.lastPrompt();
    assert.equal(messages.length, 101);
    assert.equal(messages[0]?.content, "said 200");
  });

  await t.step("fields that chat applications send do not disturb", async () => {
    const completion = await client.chat.completions.create(
      {
        ...ask(leave),
        n: 1,
        temperature: 0.2,
        top_p: 1,
        max_tokens: 10,
        presence_penalty: 0,
        frequency_penalty: 0,
        stop: ["\n"],
        seed: 7,
        user: "65f0c1",
        metadata: { chat: "1" },
        tools: [{ type: "function", function: { name: "search" } }],
        tool_choice: "auto",
        response_format: { type: "text" },
        stream_options: null,
        // an application's own
        ...{ chat_id: "1", session_id: "2", features: { web_search: false }, background_tasks: {} },
      },
    );
    assert.equal(completion.choices[0]?.message.content, answer);
  });

  const refused: readonly (readonly [what: string, body: Record<string, unknown>, param: string, RegExp])[] =
    [
      ["no model", { model: undefined }, "model", /expected the name of a pipeline/],
      ["no messages", { messages: undefined }, "messages", /expected a list/],
      [
        "no user",
        { messages: [{ role: "system", content: "q" }] },
        "messages",
        /expected one of the role user/,
      ],
      [
        "a blank question",
        { messages: [{ role: "user", content: " " }] },
        "messages[0].content",
        /not blank/,
      ],
      ["no content", { messages: [{ role: "user", content: null }] }, "messages[0].content", /not blank/],
      [
        "a tool's reply",
        { messages: [{ role: "tool", content: "1" }] },
        "messages[0].role",
        /no tool is called/,
      ],
      [
        "an image",
        { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "data:," } }] }] },
        "messages[0].content[0].type",
        /expected text: images, sound and files are not read/,
      ],
      ["several answers", { n: 2 }, "n", /expected 1/],
      ["a tool's call", { tool_choice: "required" }, "tool_choice", /no tool is called/],
      ["JSON", { response_format: { type: "json_object" } }, "response_format.type", /expected text/],
    ];
  for (const [what, changes, param, message] of refused) {
    await t.step(`refused by name: ${what}`, async () => {
      const body = { ...ask(leave), ...changes } as ReturnType<typeof ask>;
      const before = anthropic.requests.length;
      const error = await refusalOf(client.chat.completions.create(body));
      assertHas(error, { status: 400, type: "invalid_request_error", code: "invalid_request", param });
      assert.match(error.message, message);
      assert.equal(anthropic.requests.length, before);
    });
  }

  await t.step("what else is wrong has OpenAI's shape too", async () => {
    const unknown = await refusalOf(client.chat.completions.create({ ...ask(leave), model: "none" }));
    assertHas(unknown, { status: 404, code: "model_not_found", param: "model" });
    for (
      const [path, method, allow] of [
        ["/v1/chat/completions", "GET", "POST"],
        ["/v1/models", "POST", "GET, HEAD"],
        ["/v1/models/handbook", "DELETE", "GET, HEAD"],
      ] as const
    ) {
      const response = await fetch(`${url}${path}`, { method });
      assert.equal(response.headers.get("allow"), allow);
      assertHas((await response.json()).error, { type: "invalid_request_error", code: "method_not_allowed" });
    }
    const message =
      "404 there is nothing at this path; pipelines are asked at /v1/pipelines/NAME, and of OpenAI's API " +
      "/v1/chat/completions and /v1/models";
    const model = "handbook";
    for (
      const asking of [
        () => client.responses.create({ model, input: leave }),
        () => client.completions.create({ model, prompt: leave }),
        () => client.embeddings.create({ model, input: leave }),
      ]
    ) {
      const none = { status: 404, type: "invalid_request_error", code: "not_found", param: null, message };
      assertHas(await refusalOf(asking()), none);
    }
    // of Postern's own API
    const own = await fetch(`${url}/v1/pipelines/handbook/none`);
    assert.equal((await own.json()).error.code, "NOT_FOUND");
    const broken = await fetch(`${url}/v1/chat/completions`, { method: "POST", body: "{" });
    assert.equal(broken.status, 400);
    assert.equal((await broken.json()).error.message, "the body: expected JSON");
  });

  await t.step("a stream ends with its sources, what was used, and the mark", async () => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ ...ask(leave), stream: true, stream_options: { include_usage: true } }),
    });
    assert.equal(response.headers.get("content-type"), "text/event-stream");
    assert.match(await response.text(), /\n\ndata: \[DONE\]\n\n$/);
    const stream = await client.chat.completions.create({
      ...ask(leave),
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = await Array.fromAsync(stream);
    const deltas = chunks.flatMap(({ choices: [choice] }) => choice ?? []);
    assert.deepEqual(
      deltas.map(({ delta: { role, content }, finish_reason }) => [role, content, finish_reason]),
      [
        ["assistant", "There are ", null],
        [undefined, "25 days [1]", null],
        [undefined, ", for all [1, 2].", null],
        [undefined, undefined, "stop"],
      ],
    );
    const last = chunks.at(-2);
    assert.deepEqual((last as Own).sources?.map(({ id }) => id), ["1", "2"]);
    assertHas(last?.choices[0]?.delta, {
      annotations: [{
        type: "url_citation",
        url_citation: { url: "https://example.com/leave", title: "Leave", start_index: 18, end_index: 21 },
      }],
    });
    assert.deepEqual(chunks.at(-1)?.choices, []);
    assert.deepEqual(chunks.map(({ usage }) => usage), [
      null,
      null,
      null,
      null,
      { prompt_tokens: 123, completion_tokens: 7, total_tokens: 130 },
    ]);
    assert.equal(new Set(chunks.map(({ id }) => id)).size, 1);
    const plain = await Array.fromAsync(
      await client.chat.completions.create({ ...ask(leave), stream: true }),
    );
    assert.deepEqual(plain.map((chunk) => "usage" in chunk), [false, false, false, false]);
  });

  await t.step("where the pipeline shows no sources, there are none", async () => {
    const closed = { ...ask(leave), model: "closed" };
    const completion = await client.chat.completions.create(closed);
    assert.deepEqual(completion.choices[0]?.message.annotations, []);
    assert.ok(!("sources" in completion));
    const chunks = await Array.fromAsync(await client.chat.completions.create({ ...closed, stream: true }));
    assert.doesNotMatch(JSON.stringify(chunks), /sources|annotations|example\.com/);
    assert.doesNotMatch(fixture.rag.process.stderr(), /Sources were asked for/);
  });

  await t.step("a provider that fails has a status, in a stream too", async () => {
    for (const stream of [false, true]) {
      anthropic.fail(401, { times: 1 });
      const error = await refusalOf(client.chat.completions.create({ ...ask(leave), stream }));
      assertHas(error, { status: 500, type: "server_error", code: "execution_error" });
      assert.match(error.message, /the provider rejected the server's credentials/);
    }
    texts.close();
    anthropic.fail("no end mark", { times: 1 });
    const chunks = await client.chat.completions.create({ ...ask(leave), stream: true });
    const reading = chunks[Symbol.asyncIterator]();
    await reading.next();
    texts.open();
    const late = await refusalOf((async () => {
      while (!(await reading.next()).done);
    })());
    assert.match(late.message, /the provider returned an error/);
  });

  await t.step("a client that leaves ends the call", async () => {
    texts.close();
    const leaving = new AbortController();
    const stream = await client.chat.completions.create({ ...ask(leave), stream: true }, {
      signal: leaving.signal,
    });
    await stream[Symbol.asyncIterator]().next();
    assert.ok(anthropic.openConnections() > 0);
    leaving.abort();
    await waitUntil("the provider's connection closes", () => anthropic.openConnections() === 0);
    texts.open();
    await waitUntil(
      "the trail has it",
      async () => (await fixture.lines()).at(-1)?.outcome === "client_left",
    );
  });
});

testWithPgvector("OpenAI's client has the rights and limits of its token", async (t) => {
  await using fixture = await createFixture({
    server: {
      auth: { enabled: true },
      cors: { enabled: true, allowed_origins: ["https://chat.example.com"] },
    },
    limits: { default: { calls_per_minute: 1 } },
    data_dir: "data",
  });
  const { url } = fixture;
  const { token } = await fixture.rag.folder.addToken();
  const client = createOpenaiClient(url, token);
  await waitUntil("the token is let in", async () => {
    const response = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${token}` } });
    await response.body?.cancel();
    return response.ok;
  });

  await t.step("without a valid one it gets 401", async () => {
    const stranger = createOpenaiClient(url, "sk-none");
    for (const work of [stranger.models.list(), stranger.chat.completions.create(ask(leave))]) {
      const error = await refusalOf(work);
      assert.ok(error instanceof OpenAI.AuthenticationError);
      assertHas(error, { code: "invalid_api_key", type: "invalid_request_error", param: null });
      assert.match(error.headers?.get("www-authenticate") ?? "", /^Bearer/);
    }
  });

  await t.step("pipelines of others are no models", async () => {
    assert.deepEqual((await Array.fromAsync(await client.models.list())).map(({ id }) => id), ["handbook"]);
    assertHas(await refusalOf(client.models.retrieve("closed")), { status: 404, code: "model_not_found" });
    const asked = await refusalOf(client.chat.completions.create({ ...ask(leave), model: "closed" }));
    assertHas(asked, { status: 404, code: "model_not_found" });
  });

  await t.step("limits count its questions", async () => {
    await client.chat.completions.create(ask(leave));
    const error = await refusalOf(client.chat.completions.create(ask(leave)));
    assert.ok(error instanceof OpenAI.RateLimitError);
    assertHas(error, { code: "rate_limit_exceeded", type: "rate_limit_error" });
    assert.match(error.message, /calls_per_minute/);
    assert.ok(Number(error.headers?.get("retry-after")) > 0);
  });

  await t.step("pages of allowed origins may read the answers", async () => {
    const response = await fetch(`${url}/v1/models`, {
      headers: { authorization: `Bearer ${token}`, origin: "https://chat.example.com" },
    });
    await response.body?.cancel();
    assert.equal(response.headers.get("access-control-allow-origin"), "https://chat.example.com");
  });
});

testWithPgvector("OpenAI's API asks proxies who is calling, where they say it", async () => {
  await using fixture = await createFixture({
    identity: { enabled: true, trusted_proxies: ["127.0.0.1"], allowed_roles: ["postgres"] },
  });
  const error = await refusalOf(fixture.client.chat.completions.create(ask(leave)));
  assertHas(error, { status: 401, code: "identity_required", type: "invalid_request_error" });
  assert.deepEqual((await Array.fromAsync(await fixture.client.models.list())).map(({ id }) => id), [
    "handbook",
  ]);
});

testWithPgvector(
  "OpenAI's API is off where nothing switches it on, and described where it is on",
  async () => {
    await using off = await createFixture({ server: { openai_api: { enabled: false } } });
    for (const path of ["/v1/models", "/v1/models/handbook", "/v1/chat/completions"]) {
      const response = await fetch(`${off.url}${path}`);
      assert.equal(response.status, 404);
      assert.equal((await response.json()).error.code, "NOT_FOUND");
    }
    const pathsOf = async (url: string) =>
      Object.keys((await (await fetch(`${url}/v1/openapi.json`)).json()).paths);
    assert.doesNotMatch((await pathsOf(off.url)).join(), /chat|models/);
    await using on = await createFixture();
    const paths = await pathsOf(on.url);
    for (const path of ["/v1/models", "/v1/models/{id}", "/v1/chat/completions"]) {
      assert.ok(
        paths.includes(path),
      );
    }
  },
);

testWithPgvector(
  "an answer that its model cut is told as such, whole and streamed, by both faces",
  async () => {
    await using fixture = await createFixture({}, true);
    const { client, rag } = fixture;
    const whole = await client.chat.completions.create(ask(leave));
    assert.equal(whole.choices[0]?.finish_reason, "length");
    const chunks = await Array.fromAsync(
      await client.chat.completions.create({ ...ask(leave), stream: true }),
    );
    assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, "length");
    const post = async (stream: boolean) => {
      const body = JSON.stringify({ query: leave, stream });
      const headers = { "content-type": "application/json" };
      return await (await fetch(`${rag.process.url}/v1/pipelines/handbook`, {
        method: "POST",
        headers,
        body,
      })).text();
    };
    assert.equal(JSON.parse(await post(false)).truncated, true);
    assert.match(await post(true), /"type":"done","truncated":true/);
  },
);
