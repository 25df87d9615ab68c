import assert from "node:assert/strict";
import { waitUntil } from "../support/wait_until.ts";
import { bodyInPieces, eventStreamReply } from "../../src/rag_server/api/json_reply.ts";

Deno.test("a short text is a body as it is", () => {
  assert.deepEqual(bodyInPieces("shört"), { body: "shört", length: "6" });
});

Deno.test("a long text is handed over no faster than it is taken, with its length in bytes", async () => {
  const text = "ünï".repeat(100_000);
  const { body, length } = bodyInPieces(text);
  assert.equal(length, "500000");
  assert.equal(await new Response(body).text(), text);

  const { body: other } = bodyInPieces(text);
  assert.ok(other instanceof ReadableStream);
  const reader = other.getReader();
  const { value } = await reader.read();
  assert.equal(value?.length, 65_536);
});

Deno.test("a long reply has its length on the wire", async () => {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => {
    const { body, length } = bodyInPieces("x".repeat(200_000));
    return new Response(body, { headers: { "content-length": length } });
  });
  const reply = await fetch(`http://127.0.0.1:${server.addr.port}`);
  assert.equal(reply.headers.get("content-length"), "200000");
  assert.equal((await reply.text()).length, 200_000);
  await server.shutdown();
});

Deno.test("a client that leaves before the last event is told of once, and one that reads it never", async () => {
  let left = 0;
  let asked = 0;
  let isEndless = true;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () =>
    eventStreamReply({
      next() {
        asked++;
        return Promise.resolve(isEndless || asked < 3 ? [JSON.stringify({ asked })] : undefined);
      },
      onLeave: () => left++,
    }));
  const url = `http://127.0.0.1:${server.addr.port}`;
  const reader = (await fetch(url)).body?.getReader();
  assert.match(new TextDecoder().decode((await reader?.read())?.value), /^data: \{"asked":1\}\n\n/);
  await reader?.cancel();
  await waitUntil("the server hears that the client has left", () => left === 1);
  isEndless = false;
  asked = 0;
  assert.equal(await (await fetch(url)).text(), 'data: {"asked":1}\n\ndata: {"asked":2}\n\n');
  await server.shutdown();
  assert.equal(left, 1);
});
