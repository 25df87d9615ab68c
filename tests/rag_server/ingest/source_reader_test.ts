import assert from "node:assert/strict";
import { createSourceReader } from "../../../src/rag_server/ingest/source_reader.ts";
import { examplePdf } from "./example_pdf.ts";

const options = { maxTokens: 400, overlapTokens: 60 };
const forever = new AbortController().signal;
const utf8 = (text: string) => new TextEncoder().encode(text);

Deno.test("createSourceReader() gives a file's title and chunks, or why there are none", async () => {
  using reader = createSourceReader({ timeoutMs: 30_000 });
  const read = (path: string, bytes: Uint8Array) => reader.read({ path, bytes, options }, forever);
  assert.deepEqual(await read("a.md", utf8("# A\n\ntext")), {
    kind: "chunks",
    title: "A",
    texts: ["A\n\ntext"],
  });
  assert.deepEqual(await read("a.txt", utf8("")), { kind: "skipped", reason: "it holds no text" });
  assert.deepEqual(await read("b.pdf", examplePdf([[{ text: "In a PDF.", y: 700 }]])), {
    kind: "chunks",
    title: "b",
    texts: ["b\n\nIn a PDF."],
  });
  assert.equal((await read("c.pdf", utf8("%PDF-1.4 broken"))).kind, "failed");
});

Deno.test("createSourceReader() gives up a file that takes too long, and reads the next", async () => {
  using reader = createSourceReader({ timeoutMs: 500 });
  const slow = utf8("![[".repeat(2_000_000));
  assert.deepEqual(await reader.read({ path: "slow.md", bytes: slow, options }, forever), {
    kind: "failed",
    reason: "reading it took more than 0.5 seconds",
  });
  const next = await reader.read({ path: "a.txt", bytes: utf8("text"), options }, forever);
  assert.deepEqual(next, { kind: "chunks", title: "a", texts: ["a\n\ntext"] });
});

Deno.test("createSourceReader() stops with its signal", async () => {
  using reader = createSourceReader({ timeoutMs: 30_000 });
  const controller = new AbortController();
  const reading = reader.read(
    { path: "a.md", bytes: utf8("![[".repeat(100_000)), options },
    controller.signal,
  );
  controller.abort(new Error("stop"));
  await assert.rejects(reading, { message: "stop" });
});
