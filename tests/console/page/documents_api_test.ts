import assert from "node:assert/strict";
import { readEvents } from "../../../console/ask/documents_api.ts";

Deno.test("events are read wherever the network parts them", async () => {
  const events = [
    { type: "chunk", content: "Üben\n\ndata: 😀" },
    { type: "done", sources: [] },
  ];
  const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(
    "",
  );
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 7, bytes.length]) {
    const parts = Array.from(
      { length: Math.ceil(bytes.length / size) },
      (_, at) => bytes.slice(at * size, (at + 1) * size),
    );
    assert.deepEqual(
      await Array.fromAsync(readEvents(ReadableStream.from(parts))),
      events,
    );
  }
});
