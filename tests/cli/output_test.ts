import assert from "node:assert/strict";
import { createStreamWriter } from "../../src/cli/output.ts";

/** A stream that takes so many bytes at once, and fails once it has taken all it is to take. */
function createStream({ atOnce, thrown, room }: { atOnce: number; thrown: Error; room: number }) {
  const decoder = new TextDecoder();
  const stream = {
    taken: "",
    attempts: 0,
    writeSync(bytes: Uint8Array): number {
      stream.attempts++;
      if (stream.taken.length >= room) throw thrown;
      const part = bytes.subarray(0, atOnce);
      stream.taken += decoder.decode(part);
      return part.length;
    },
  };
  return stream;
}

Deno.test("a stream that takes little at once gets all of a text", () => {
  const stream = createStream({ atOnce: 3, thrown: new Error(), room: 100 });
  createStreamWriter(stream, "it").writeLine("ten letters");
  assert.equal(stream.taken, "ten letters\n");
});

Deno.test("what follows after the reader has gone is dropped without another attempt", () => {
  const stream = createStream({ atOnce: 4, thrown: new Deno.errors.BrokenPipe(), room: 4 });
  const writer = createStreamWriter(stream, "it");
  assert.equal(writer.isClosed(), false);
  writer.writeLine("one two");
  writer.writeLine("three");
  assert.deepEqual([writer.isClosed(), stream.taken, stream.attempts], [true, "one ", 2]);
});

Deno.test("a stream that fails otherwise is named", () => {
  const stream = createStream({ atOnce: 4, thrown: new Error("No space left on device"), room: 0 });
  assert.throws(() => createStreamWriter(stream, "standard output").write("x"), {
    code: "unavailable",
    message: "Cannot write to standard output: No space left on device",
  });
});
