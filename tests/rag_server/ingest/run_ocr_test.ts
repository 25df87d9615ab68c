import assert from "node:assert/strict";
import { runOcr } from "../../../src/rag_server/ingest/run_ocr.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";
import { waitUntil } from "../../support/wait_until.ts";

const forever = new AbortController().signal;
const pdf = Uint8Array.from(new TextEncoder().encode("the PDF"));

/** A program that does what a line of a shell says; `$1` is the page. */
const shell = (line: string) => ["/bin/sh", "-c", line, "ocr", "{page}"];

async function ocr(
  line: string,
  pages: readonly number[] = [3],
  options: Partial<Parameters<typeof runOcr>[2]> = {},
  signal = forever,
) {
  const { texts, faults } = await runOcr(pdf, pages, { command: shell(line), ...options }, signal);
  return { texts: [...texts], faults };
}

Deno.test("runOcr() gives the program the PDF and a page, and takes its text", async () => {
  assert.deepEqual(await ocr('echo "page $1 of $(cat)"', [2, 5]), {
    texts: [[2, "page 2 of the PDF\n"], [5, "page 5 of the PDF\n"]],
    faults: [],
  });
  assert.deepEqual(await ocr("echo unread"), { texts: [[3, "unread\n"]], faults: [] });
});

Deno.test("runOcr() hides Postern's environment from the program", async () => {
  Deno.env.set("POSTERN_TEST_SECRET", "hidden");
  try {
    assert.deepEqual(await ocr('echo "$POSTERN_TEST_SECRET $PATH"'), {
      texts: [[3, " /usr/local/bin:/usr/bin:/bin\n"]],
      faults: [],
    });
  } finally {
    Deno.env.delete("POSTERN_TEST_SECRET");
  }
});

Deno.test("runOcr() names the page that the program fails for, and goes on", async () => {
  assert.deepEqual(
    await ocr('test "$1" != 2 || { echo "no such font" >&2; exit 4; }; echo text', [1, 2, 3]),
    {
      texts: [[1, "text\n"], [2, ""], [3, "text\n"]],
      faults: ["OCR failed for page 2: exit code 4: no such font"],
    },
  );
});

Deno.test("runOcr() gives up a file after three failures in a row", async () => {
  const { faults } = await ocr("exit 1", [1, 2, 3, 7, 9]);
  assert.deepEqual(faults.slice(2), [
    "OCR failed for page 3: exit code 1",
    "OCR was not tried for 2 further pages, from page 7 on",
  ]);
});

Deno.test("runOcr() names a program that is not there", async () => {
  const { faults: [fault = ""] } = await ocr("", [1], { command: ["/nowhere/ocr", "{page}"] });
  assert.match(fault, /^OCR failed for page 1: .*\/nowhere\/ocr/);
});

Deno.test("runOcr() bounds a page's text", async () => {
  assert.deepEqual(await ocr("yes", [3], { maxTextBytes: 1_000 }), {
    texts: [[3, ""]],
    faults: ["OCR failed for page 3: it wrote more than 1000 bytes"],
  });
});

Deno.test("runOcr() bounds a page's time", async () => {
  assert.deepEqual(await ocr("sleep 600", [3], { timeoutMs: 50 }), {
    texts: [[3, ""]],
    faults: ["OCR failed for page 3: it took more than 0.05 seconds"],
  });
});

Deno.test("runOcr() ends with its signal, and so does what the program started", async () => {
  await using folder = await temporaryFolder();
  const pidFile = `${folder.path}/pid`;
  const stop = new AbortController();
  const running = ocr(`sleep 600 & echo $! > ${pidFile}.new; mv ${pidFile}.new ${pidFile}; wait`, [3], {
    timeoutMs: 0,
  }, stop.signal);
  const readPid = () => Deno.readTextFile(pidFile).catch(() => "");
  await waitUntil("the program runs", async () => await readPid() !== "");
  stop.abort(new Error("stop"));
  await assert.rejects(running, { message: "stop" });
  const pid = (await readPid()).trim();
  await waitUntil("its child has ended", async () => !/^[RSD]/.test(await stateOf(pid)));
});

async function stateOf(pid: string): Promise<string> {
  const { stdout } = await new Deno.Command("ps", { args: ["-o", "state=", "-p", pid] }).output();
  return new TextDecoder().decode(stdout).trim();
}
