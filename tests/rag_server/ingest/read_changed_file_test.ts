import assert from "node:assert/strict";
import { createFileReader } from "../../../src/rag_server/ingest/read_changed_file.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";
import { examplePdf } from "./formats/example_pdf.ts";

const forever = new AbortController().signal;
const utf8 = (text: string) => new TextEncoder().encode(text);

const open = (readTimeoutMs = 30_000, ocrLine?: string) =>
  createFileReader({
    ocrCommand: ocrLine === undefined ? undefined : ["/bin/sh", "-c", ocrLine, "ocr", "{page}"],
    model: "m",
    maxTokens: 400,
    overlapTokens: 60,
    maxFileBytes: 10_000_000,
    readTimeoutMs,
  });

/** Writes a file and reads it, without its hash. */
async function read(
  reader: ReturnType<typeof open>,
  folder: { readonly path: string },
  name: string,
  content: string | Uint8Array,
  signal = forever,
) {
  const location = `${folder.path}/${name}`;
  await Deno.writeFile(location, typeof content === "string" ? utf8(content) : content);
  const reading = await reader.read({ location, path: name }, undefined, signal);
  return reading.kind === "chunks"
    ? { kind: reading.kind, title: reading.title, chunks: reading.chunks }
    : reading;
}

Deno.test("createFileReader() gives a file's title and chunks, or why there are none", async () => {
  await using folder = await temporaryFolder();
  using reader = open();
  assert.deepEqual(await read(reader, folder, "a.md", "# A\n\ntext"), {
    kind: "chunks",
    title: "A",
    chunks: [{ text: "A\n\ntext", heading: "A", start: 3, end: 7 }],
  });
  assert.deepEqual(await read(reader, folder, "title.md", "# Open from 9 to 17\n"), {
    kind: "chunks",
    title: "Open from 9 to 17",
    chunks: [{ text: "Open from 9 to 17", heading: "Open from 9 to 17", start: 0, end: 17 }],
  });
  assert.deepEqual(await read(reader, folder, "a.txt", ""), { kind: "skipped", reason: "it holds no text" });
  assert.deepEqual(await read(reader, folder, "b.pdf", examplePdf([[{ text: "In a PDF.", y: 700 }]])), {
    kind: "chunks",
    title: "b",
    chunks: [{ text: "b\n\nIn a PDF.", heading: "b", start: 0, end: 9, page: 1 }],
  });
  assert.equal((await read(reader, folder, "c.pdf", "%PDF-1.4 broken")).kind, "failed");
});

/** A page with text, then two without. */
const scanned = examplePdf([[{ text: "Typed.", y: 700 }], [], []]);

Deno.test("createFileReader() has a program read a PDF's pages without text", async () => {
  await using folder = await temporaryFolder();
  const location = `${folder.path}/a.pdf`;
  await Deno.writeFile(location, scanned);
  const readBy = async (ocrLine?: string, record?: string) => {
    using reader = open(30_000, ocrLine);
    const known = record === undefined ? undefined : { hash: record, isWhole: true };
    return await reader.read({ location, path: "a.pdf" }, known, forever);
  };
  const textOf = (reading: Awaited<ReturnType<typeof readBy>>) =>
    reading.kind === "chunks" ? reading.chunks.map(({ text }) => text).join() : reading;
  const typed = await readBy();
  assert.equal(textOf(typed), "a\n\nTyped.");
  const whole = await readBy('echo "Scanned $1."');
  assert.equal(textOf(whole), "a\n\nTyped.\n\nScanned 2.\n\nScanned 3.");
  const line = 'test "$1" = 3 && echo "Scanned $1."';
  const part = await readBy(line);
  assert.equal(textOf(part), "a\n\nTyped.\n\nScanned 3.");
  assert.ok(typed.kind === "chunks" && whole.kind === "chunks" && part.kind === "chunks");
  assert.deepEqual([typed.faults, whole.faults, part.faults], [[], [], [
    "OCR failed for page 2: exit code 1",
  ]]);
  // another program may read another text, and a page that failed is tried again
  assert.equal((await readBy(undefined, typed.hash)).kind, "unchanged");
  assert.equal((await readBy('echo "Scanned $1."', typed.hash)).kind, "chunks");
  assert.equal((await readBy('echo "Scanned $1."', whole.hash)).kind, "unchanged");
  assert.equal((await readBy(line, part.hash)).kind, "chunks");
});

Deno.test("createFileReader() fails a PDF of pictures where the program fails, else skips it", async () => {
  await using folder = await temporaryFolder();
  const pictures = examplePdf([[]]);
  using failing = open(30_000, "exit 1");
  assert.deepEqual(await read(failing, folder, "a.pdf", pictures), {
    kind: "failed",
    reason: "OCR failed for page 1: exit code 1",
  });
  using none = open();
  assert.deepEqual(await read(none, folder, "a.pdf", pictures), {
    kind: "skipped",
    reason: "it holds no text; perhaps its pages are pictures",
  });
});

Deno.test("createFileReader() gives up a file that takes too long, and reads the next", async () => {
  await using folder = await temporaryFolder();
  using reader = open(500);
  assert.deepEqual(await read(reader, folder, "slow.md", "![[".repeat(2_000_000)), {
    kind: "failed",
    reason: "reading it took more than 0.5 seconds",
  });
  assert.deepEqual(await read(reader, folder, "a.txt", "text"), {
    kind: "chunks",
    title: "a",
    chunks: [{ text: "a\n\ntext", heading: "a", start: 0, end: 4 }],
  });
});

Deno.test("createFileReader() stops with its signal", async () => {
  await using folder = await temporaryFolder();
  using reader = open();
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error("stop")), 100);
  await assert.rejects(
    read(reader, folder, "a.md", "![[".repeat(2_000_000), controller.signal),
    { message: "stop" },
  );
});

Deno.test("a pipe or a device that was given to ingest is not opened", async () => {
  await using folder = await temporaryFolder();
  const pipe = `${folder.path}/pipe`;
  assert.ok((await new Deno.Command("mkfifo", { args: [pipe] }).output()).success);
  using reader = open(1_000);
  const signal = AbortSignal.timeout(5_000);
  for (const location of [pipe, "/dev/zero"]) {
    assert.deepEqual(await reader.read({ location, path: "given" }, undefined, signal), {
      kind: "failed",
      reason: "it is not a regular file",
    });
  }
});
