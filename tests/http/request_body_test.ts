import assert from "node:assert/strict";
import fc from "fast-check";
import { createSharedDeadline } from "../../src/core/async/deadline.ts";
import { findExcess, readBody } from "../../src/http/request_body.ts";

const patient = createSharedDeadline(60_000);
patient.close();

const post = (body: BodyInit) => new Request("http://localhost/", { method: "POST", body });

Deno.test("readBody() joins characters that are split between chunks", async () => {
  const bytes = new TextEncoder().encode("häß€𝄞");
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const byte of bytes) controller.enqueue(new Uint8Array([byte]));
      controller.close();
    },
  });
  assert.deepEqual(await readBody(post(body), { maxBytes: 100, timeout: patient }), {
    kind: "text",
    text: "häß€𝄞",
  });
});

Deno.test("readBody() stops at the bound, with or without Content-Length", async () => {
  const bounds = { maxBytes: 10, timeout: patient };
  assert.equal((await readBody(post("12345678901"), bounds)).kind, "too_large");
  let pulled = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      pulled++;
      controller.enqueue(new Uint8Array(4));
    },
  });
  assert.equal((await readBody(post(endless), bounds)).kind, "too_large");
  assert.ok(pulled < 10);
});

Deno.test("readBody() refuses what is no UTF-8 rather than replacing it", async () => {
  const body = new Uint8Array([0x22, 0xff, 0x22]);
  assert.equal((await readBody(post(body), { maxBytes: 10, timeout: patient })).kind, "not_utf8");
});

Deno.test("readBody() gives up on a body that does not arrive", async () => {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new Uint8Array([0x31])),
  });
  const timeout = createSharedDeadline(0);
  // its timer alone does not keep a process alive
  const alive = setInterval(() => {}, 100);
  assert.equal((await readBody(post(body), { maxBytes: 10, timeout })).kind, "broken");
  clearInterval(alive);
  timeout.close();
});

const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

Deno.test("a hundred levels pass, and one more does not, whatever they are made of", () => {
  const objects = (levels: number) => '{"a":'.repeat(levels - 1) + "{}" + "}".repeat(levels - 1);
  assert.equal(findExcess(nested(100)), undefined);
  assert.equal(findExcess(objects(100)), undefined);
  for (const text of [nested(101), objects(101), "[".repeat(4_000_000), `["x",${nested(100)}]`]) {
    assert.equal(findExcess(text), "it nests deeper than 100 levels");
  }
});

Deno.test("levels side by side do not add up", () => {
  assert.equal(findExcess(`[${Array(1_000).fill(nested(90)).join()}]`), undefined);
});

Deno.test("what stands in a string counts for nothing", () => {
  for (
    const inner of ["[".repeat(500), ",:".repeat(100_000), '"'.repeat(500) + "[[[", '\\"[\\'.repeat(300)]
  ) {
    assert.equal(findExcess(JSON.stringify([inner, inner])), undefined);
  }
});

Deno.test("300,000 items and 10,000 keys pass, and more do not", () => {
  assert.equal(findExcess(`[${Array(300_001).fill(1).join()}]`), undefined);
  assert.equal(findExcess(`[${Array(300_002).fill(1).join()}]`), "it holds more than 300000 items");
  assert.equal(findExcess(`{${'"a":1,'.repeat(10_000)}`), undefined);
  assert.equal(findExcess(`{${'"a":1,'.repeat(10_001)}`), "it holds more than 10000 keys");
});

Deno.test("no text that is small and flat is refused, JSON or not", () => {
  fc.assert(fc.property(fc.json({ maxDepth: 20 }), (text) => findExcess(text) === undefined));
  fc.assert(fc.property(fc.string({ maxLength: 100 }), (text) => findExcess(text) === undefined));
});
