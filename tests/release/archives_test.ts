import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { unzipSync } from "fflate";
import { unpackTar } from "modern-tar";
import { tarGz, zip } from "../../tools/release/archives.ts";

const files = [
  { path: "postern/bin/postern", bytes: new Uint8Array(100_000).fill(7), isExecutable: true },
  { path: "postern/share/doc/LICENSE", bytes: new TextEncoder().encode("free\n") },
];
const time = new Date("2026-11-22T14:30:00Z");

Deno.test("tarGz() keeps paths, modes and the time given", async () => {
  const entries = await unpackTar(gunzipSync(await tarGz(files, time)));
  assert.deepEqual(
    entries.map(({ header, data }) => [header.name, header.mode, header.mtime?.getTime(), data?.length]),
    [
      ["postern/bin/postern", 0o755, time.getTime(), 100_000],
      ["postern/share/doc/LICENSE", 0o644, time.getTime(), 5],
    ],
  );
});

Deno.test("tarGz() and zip() make the same bytes of the same files", async () => {
  assert.deepEqual(await tarGz(files, time), await tarGz(files, time));
  assert.deepEqual(zip(files, time), zip(files, time));
});

Deno.test("zip() keeps contents, that a file is executable, and UTC", () => {
  const bytes = zip(files, time);
  assert.deepEqual(unzipSync(bytes)["postern/share/doc/LICENSE"], files[1]?.bytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const central = bytes.findLastIndex((_, at) =>
    at + 46 < bytes.length && view.getUint32(at, true) === 0x02014b50
  );
  const first = bytes.findIndex((_, at) => at + 46 < bytes.length && view.getUint32(at, true) === 0x02014b50);
  assert.equal(view.getUint32(first + 38, true) >>> 16, 0o100755);
  assert.equal(view.getUint32(central + 38, true) >>> 16, 0o100644);
  // hours, minutes and half seconds
  assert.equal(view.getUint16(first + 12, true), 14 << 11 | 30 << 5);
});
