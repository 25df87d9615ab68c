import assert from "node:assert/strict";
import { createSharedDeadline } from "../../src/core/async/deadline.ts";
import { readBody } from "../../src/http/read_body.ts";

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
