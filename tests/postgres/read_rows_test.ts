import assert from "node:assert/strict";
import fc from "fast-check";
import { Buffer } from "node:buffer";
import { createRowReader } from "../../src/postgres/read/read_rows.ts";

function message(kind: string, content: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.write(kind);
  head.writeInt32BE(4 + content.length, 1);
  return Buffer.concat([head, content]);
}

function rowMessage(values: readonly (string | null)[]): Buffer {
  const count = Buffer.alloc(2);
  count.writeInt16BE(values.length);
  const fields = values.flatMap((value) => {
    const bytes = Buffer.from(value ?? "");
    const length = Buffer.alloc(4);
    length.writeInt32BE(value === null ? -1 : bytes.length);
    return [length, bytes];
  });
  return message("D", Buffer.concat([count, ...fields]));
}

type Sent = { readonly row: readonly (string | null)[] } | { readonly other: string };

/** What a reader makes of messages that come in parts of these sizes: each row, and the others' bytes together. */
function received(sent: readonly Sent[], sizes: readonly number[]): unknown[] {
  const bytes = Buffer.concat(
    sent.map((one) => "row" in one ? rowMessage(one.row) : message("C", Buffer.from(one.other))),
  );
  const events: unknown[] = [];
  const others = (text: string) => {
    const last = events.at(-1);
    if (typeof last === "string") events[events.length - 1] = last + text;
    else events.push(text);
  };
  const read = createRowReader({
    onRow: (fields, length) => events.push({ fields, length }),
    onOthers: (messages) => others(messages.toString("hex")),
  });
  let at = 0;
  for (let part = 0; at < bytes.length; part++) {
    const size = sizes[part % sizes.length] ?? 1;
    read(bytes.subarray(at, at + size));
    at += size;
  }
  return events;
}

function expected(sent: readonly Sent[]): unknown[] {
  const events: unknown[] = [];
  for (const one of sent) {
    if ("row" in one) {
      events.push({ fields: one.row, length: rowMessage(one.row).length - 1 });
      continue;
    }
    const hex = message("C", Buffer.from(one.other)).toString("hex");
    const last = events.at(-1);
    if (typeof last === "string") events[events.length - 1] = last + hex;
    else events.push(hex);
  }
  return events;
}

Deno.test("rows and other messages come in their order, however the bytes are split", () => {
  const text = fc.oneof(
    fc.string({ maxLength: 80 }),
    fc.string({ unit: "grapheme", maxLength: 20 }),
    fc.constantFrom(
      "",
      "\u0000",
      "\u007f",
      "\u0080",
      "ä".repeat(40),
      "x".repeat(64),
      "x".repeat(65),
      "x".repeat(300),
    ),
  );
  const value = fc.option(text.map((one) => one.toWellFormed()));
  const sent = fc.array(
    fc.oneof(
      fc.record({ row: fc.array(value, { maxLength: 6 }) }),
      fc.record({ other: fc.string({ maxLength: 10 }) }),
    ),
    { maxLength: 20 },
  );
  const sizes = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 5 });
  fc.assert(fc.property(sent, sizes, (messages, parts) => {
    assert.deepEqual(received(messages, parts), expected(messages));
  }));
});

Deno.test("a row of many megabytes comes in many parts", () => {
  const row = ["x".repeat(20_000_000), null, "after it"];
  assert.deepEqual(received([{ row }], [16_384]), [{ fields: row, length: rowMessage(row).length - 1 }]);
});
