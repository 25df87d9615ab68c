import { untilAborted } from "../../core/async/abort.ts";
import { isTimeout, withDeadline } from "../../core/async/deadline.ts";

interface OcrOptions {
  /** A program and its arguments, in which `{page}` stands for the page's number. */
  readonly command: readonly string[];
  /** Default: three minutes for a page. */
  readonly timeoutMs?: number;
  /** Default: 1 MiB for a page. */
  readonly maxTextBytes?: number;
}

const usualTimeoutMs = 180_000;
const usualTextBytes = 1024 * 1024;
const maxReasonBytes = 500;

/** A program that fails for so many pages in a row is not asked for the file's others. */
const mostErrors = 3;

/** All that the program sees of the environment: Postern's own has secrets. */
const environment = { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8" };

/**
 * The texts of a PDF's pages as a program for OCR reads them, one page after the other. It gets the PDF on stdin, and writes
 * the text to stdout.
 *
 * @param pages from 1
 * @returns by page, an empty text where the program failed; `faults` say for people why
 * @throws the signal's reason
 */
export async function runOcr(
  pdf: Uint8Array<ArrayBuffer>,
  pages: readonly number[],
  options: OcrOptions,
  signal: AbortSignal,
): Promise<{ texts: ReadonlyMap<number, string>; faults: readonly string[] }> {
  const texts = new Map(pages.map((page) => [page, ""]));
  const faults: string[] = [];
  let errors = 0;
  for (const [at, page] of pages.entries()) {
    if (errors === mostErrors) {
      faults.push(`OCR was not tried for ${pages.length - at} further pages, from page ${page} on`);
      break;
    }
    try {
      texts.set(page, await readPage(pdf, page, options, signal));
      errors = 0;
    } catch (error) {
      signal.throwIfAborted();
      errors++;
      faults.push(`OCR failed for page ${page}: ${error instanceof Error ? error.message : error}`);
    }
  }
  return { texts, faults };
}

async function readPage(
  pdf: Uint8Array<ArrayBuffer>,
  page: number,
  { command, timeoutMs = usualTimeoutMs, maxTextBytes = usualTextBytes }: OcrOptions,
  signal: AbortSignal,
): Promise<string> {
  const [program = "", ...args] = command.map((part) => part.replaceAll("{page}", String(page)));
  const child = new Deno.Command(program, {
    args,
    clearEnv: true,
    env: environment,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
    // a group of its own, so that what the program starts ends with it
    detached: true,
  }).spawn();
  // a program need not read all of it
  ReadableStream.from([pdf]).pipeTo(child.stdin).catch(() => {});
  const messages = startOf(child.stderr, maxReasonBytes);
  try {
    return await withDeadline(timeoutMs, signal, async (inner) => {
      const { text, isWhole } = await untilAborted(startOf(child.stdout, maxTextBytes, true), inner);
      if (!isWhole) throw new Error(`it wrote more than ${maxTextBytes} bytes`);
      const { code } = await untilAborted(child.status, inner);
      if (code === 0) return text;
      const [line = ""] = (await untilAborted(messages, inner)).text.trim().split("\n");
      throw new Error(`exit code ${code}${line && `: ${line}`}`);
    });
  } catch (error) {
    throw isTimeout(error) ? new Error(`it took more than ${timeoutMs / 1000} seconds`) : error;
  } finally {
    endGroup(child);
  }
}

/** @param stops whether to read no further than that; else the rest is read and dropped */
async function startOf(
  stream: ReadableStream<Uint8Array>,
  maxBytes: number,
  stops = false,
): Promise<{ text: string; isWhole: boolean }> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for await (const chunk of stream) {
    if (length < maxBytes) chunks.push(new Uint8Array(chunk));
    length += chunk.length;
    if (length > maxBytes && stops) break;
  }
  const text = await new Blob(chunks).slice(0, maxBytes).text();
  return { text, isWhole: length <= maxBytes };
}

function endGroup(child: Deno.ChildProcess): void {
  try {
    // where there are no groups, as on Windows, the program alone
    if (Deno.build.os === "windows") child.kill("SIGKILL");
    else Deno.kill(-child.pid, "SIGKILL");
  } catch {
    // all of it has ended
  }
}
