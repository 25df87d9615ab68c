import assert from "node:assert/strict";
import { configJsonSchema } from "../../../src/config/schema/config_schema.ts";
import type { ApiSchema } from "../../support/schema_faults.ts";
import { accepted, condition, createAnswering, refusal } from "./rag_bodies.ts";

Deno.test("a query's fields reach the pipeline", async () => {
  const query = await accepted({
    query: "How?",
    top_n: 100,
    min_similarity: 0.25,
    include_sources: true,
    disable_hybrid: true,
    messages: [{ role: "user", content: "Hi" }, { role: "assistant", content: "" }],
    filter: {
      conditions: [
        { column: "product", operator: "=", value: "pgAdmin" },
        { column: "version", operator: "NOT IN", value: ["v1", 2, true] },
        { column: "meta->>kind", operator: "is null", value: "ignored" },
      ],
      logic: "or",
    },
  });
  assert.deepEqual(query, {
    query: "How?",
    topN: 100,
    minSimilarity: 0.25,
    showsSources: true,
    disableHybrid: true,
    caller: { kind: "local", address: "127.0.0.1" },
    messages: [{ role: "user", content: "Hi" }, { role: "assistant", content: "" }],
    filter: {
      conditions: [
        { column: "product", operator: "=", value: "pgAdmin" },
        { column: "version", operator: "NOT IN", value: ["v1", 2, true] },
        { column: "meta->>kind", operator: "IS NULL" },
      ],
      logic: "OR",
    },
  });
});

Deno.test("what is left out or null takes its default, and fields that nobody knows are ignored", async () => {
  const defaults = {
    query: "q",
    disableHybrid: false,
    caller: { kind: "local", address: "127.0.0.1" },
    messages: [],
  };
  assert.deepEqual(await accepted({ query: "q" }), defaults);
  assert.deepEqual(await accepted({ query: "q", model: "x", "__proto__x": 1 }), defaults);
  assert.deepEqual(await accepted('{"query":"q","__proto__":{"stream":true}}'), defaults);
  assert.deepEqual(
    await accepted({
      query: "q",
      stream: null,
      top_n: null,
      filter: null,
      include_sources: null,
      disable_hybrid: null,
      min_similarity: null,
      vector_weight: null,
      messages: null,
    }),
    defaults,
  );
  assert.deepEqual(await accepted({ query: "q", filter: { conditions: [condition], logic: null } }), {
    ...defaults,
    filter: { conditions: [condition], logic: "AND" },
  });
});

Deno.test("a body that is no JSON object is refused", async () => {
  assert.equal(await refusal(""), "the body: expected JSON");
  assert.equal(await refusal("query=x"), "the body: expected JSON");
  assert.equal(await refusal('{"query":"q"} x'), "the body: expected JSON");
  for (const body of ["null", "1", '"x"', "[]", "true"]) {
    assert.equal(await refusal(body), "the body: expected a JSON object");
  }
  const { send } = createAnswering();
  const broken = new ReadableStream({ pull: (controller) => controller.error(new Error("reset")) });
  const part = await send("POST", "/v1/pipelines/handbook", { body: broken });
  assert.deepEqual(
    [part.status, part.text],
    [400, '{"error":{"code":"INVALID_REQUEST","message":"the body: it did not arrive completely"}}'],
  );
  const { status, text } = await send("POST", "/v1/pipelines/handbook", {
    body: new Uint8Array([0x22, 0xff, 0x22]),
  });
  assert.equal(status, 400);
  assert.equal(text, '{"error":{"code":"INVALID_REQUEST","message":"the body: expected JSON in UTF-8"}}');
  assert.equal((await send("POST", "/v1/pipelines/handbook")).status, 400);
});

Deno.test("the Content-Type does not matter, as curl -d sends that of a form", async () => {
  const { send } = createAnswering();
  for (
    const type of [
      "application/json",
      "application/x-www-form-urlencoded",
      "text/plain",
      "multipart/form-data",
    ]
  ) {
    const reply = await send("POST", "/v1/pipelines/handbook", {
      body: '{"query":"q"}',
      headers: { "content-type": type },
    });
    assert.deepEqual([reply.status, reply.text], [200, '{"answer":"Yes.","tokens_used":7}']);
  }
  const bytes = new TextEncoder().encode('\ufeff{"query":"q"}');
  assert.equal((await send("POST", "/v1/pipelines/handbook", { body: bytes })).status, 200);
});

Deno.test("the query must be a text of bounded length that is not blank", async () => {
  const expected = "query: expected a text of 1 to 32000 characters, not blank and without NUL";
  const wrong = [
    undefined,
    null,
    "",
    " \n\t\u00a0",
    "a\0b",
    5,
    true,
    {},
    ["q"],
    "x".repeat(32_001),
    "𝄞".repeat(32_001),
  ];
  for (const query of wrong) assert.equal(await refusal({ query }), expected);
  assert.equal((await accepted({ query: "x".repeat(32_000) })).query.length, 32_000);
  assert.equal((await accepted({ query: "𝄞".repeat(32_000) })).query.length, 64_000);
});

Deno.test("top_n must be an integer from 1 to 100", async () => {
  const wrong = ["0", "-1", "101", "1.5", '"5"', "true", "[]", "{}", "1e999", "99999999999999999999"];
  for (const topN of wrong) {
    assert.equal(await refusal(`{"query":"q","top_n":${topN}}`), "top_n: expected an integer from 1 to 100");
  }
  for (const topN of ["1", "100", "5.0", "1e2"]) await accepted(`{"query":"q","top_n":${topN}}`);
});

Deno.test("min_similarity must be a number from 0 to 1", async () => {
  for (const wrong of ["-0.1", "1.1", '"0.5"', "true", "[]"]) {
    const body = `{"query":"q","min_similarity":${wrong}}`;
    assert.equal(await refusal(body), "min_similarity: expected a number from 0 to 1");
  }
  for (const taken of [0, 0.5, 1]) {
    assert.equal((await accepted({ query: "q", min_similarity: taken })).minSimilarity, taken);
  }
});

Deno.test("a field that is called as a setting of the pipeline is refused, not ignored", async () => {
  const schema: ApiSchema = JSON.parse(JSON.stringify(configJsonSchema()));
  const pipeline = schema.properties?.pipelines?.items;
  const settings = Object.keys(pipeline?.properties?.search?.properties ?? {});
  assert.ok(settings.includes("vector_weight"));
  for (const setting of [...settings, "token_budget", "system_prompt", "rag_llm", "search", "rerank"]) {
    if (setting === "min_similarity") continue;
    assert.equal(
      await refusal({ query: "q", [setting]: 0 }),
      `${setting}: expected none; it is a setting of the pipeline`,
    );
  }
});

Deno.test("flags must be true or false", async () => {
  for (const flag of ["stream", "include_sources", "disable_hybrid"]) {
    for (const wrong of [0, 1, "true", "", [], {}]) {
      assert.equal(await refusal({ query: "q", [flag]: wrong }), `${flag}: expected true or false`);
    }
  }
});

Deno.test("messages must be at most 100, of a user or an assistant", async () => {
  const message = { role: "user", content: "x" };
  assert.equal((await accepted({ query: "q", messages: Array(100).fill(message) })).messages.length, 100);
  const tooMany = "messages: expected a list of at most 100";
  for (const messages of [Array(101).fill(message), {}, "x", 1]) {
    assert.equal(await refusal({ query: "q", messages }), tooMany);
  }
  assert.equal(await refusal({ query: "q", messages: Array(200_000).fill(1) }), tooMany);
  const of = (...messages: unknown[]) => refusal({ query: "q", messages });
  assert.equal(await of(message, 1), "messages[1]: expected an object with role and content");
  assert.equal(await of({ role: "system", content: "x" }), "messages[0].role: expected user or assistant");
  assert.equal(await of({ role: "User", content: "x" }), "messages[0].role: expected user or assistant");
  assert.equal(await of({ content: "x" }), "messages[0].role: expected user or assistant");
  assert.equal(await of(message, { role: "user" }), "messages[1].content: expected a text");
  assert.equal(
    await of({ role: "user", content: [{ type: "text" }] }),
    "messages[0].content: expected a text",
  );
});

Deno.test("a refusal names the first five faults and counts the others", async () => {
  assert.equal(
    await refusal({ query: 1, top_n: 0 }),
    "query: expected a text of 1 to 32000 characters, not blank and without NUL; " +
      "top_n: expected an integer from 1 to 100",
  );
  assert.equal(
    await refusal({ query: "q", messages: Array(100).fill(1) }),
    [0, 1, 2, 3, 4].map((i) => `messages[${i}]: expected an object with role and content`).join("; ") +
      "; and 95 more",
  );
});

Deno.test("a body over 1 MiB is refused, with and without Content-Length", async () => {
  const { handbook, send } = createAnswering();
  const tooLarge = '{"error":{"code":"REQUEST_TOO_LARGE","message":"the body: expected at most 1 MiB"}}';
  const fit = `{"query":"q","x":"${"x".repeat(1024 * 1024 - 20)}"}`;
  assert.equal(fit.length, 1024 * 1024);
  const streamed = (text: string) =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(text));
        controller.close();
      },
    });
  for (const body of [fit, streamed(fit)]) {
    assert.equal((await send("POST", "/v1/pipelines/handbook", { body })).status, 200);
  }
  for (const body of [fit + " ", streamed(fit + " ")]) {
    const headers = { ...(typeof body === "string" ? { "content-length": String(body.length) } : {}) };
    const reply = await send("POST", "/v1/pipelines/handbook", { body, headers });
    assert.deepEqual([reply.status, reply.text], [413, tooLarge]);
  }
  assert.equal(handbook.asked.length, 2);
});
