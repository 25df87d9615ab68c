import { AppError, type ErrorCode } from "../../core/app_error.ts";
import { changePlainText, readPlainLayout } from "./plain_layout.ts";
import {
  changeYamlText,
  type CredentialEntry,
  type CredentialText,
  type EntryChange,
  markRepeatedIds,
  parseCredentialText,
  readEntries,
} from "./yaml_entries.ts";

/** In characters; the YAML parser holds up other tasks for some twenty milliseconds with a text so long. */
const longestTextHere = 32_768;

/**
 * The entries under a file's one top key, as readEntries() gives them, without holding up other tasks: by lines where the
 * layout is plain, else by the YAML parser, which does a long text in a worker.
 *
 * @throws AppError as readEntries
 */
export async function loadEntries(
  file: CredentialText,
  section: string,
): Promise<readonly CredentialEntry[]> {
  const plain = await readPlainLayout(file.text, section);
  if (plain !== undefined) return markRepeatedIds(plain);
  if (file.text.length > longestTextHere) return (await askWorker({ file, section })).entries;
  return readEntries(parseCredentialText(file), section);
}

/**
 * A file's text with fields of its entries set, without holding up other tasks. Comments, order and, in the plain
 * layout, every other character stay. Each id may be there once.
 *
 * @throws AppError as changeYamlText
 */
export async function changeEntries(
  file: CredentialText,
  section: string,
  changes: readonly EntryChange[],
): Promise<string> {
  const plain = await readPlainLayout(file.text, section);
  if (plain !== undefined) return changePlainText(file, plain, changes);
  if (file.text.length > longestTextHere) return (await askWorker({ file, section, changes })).text;
  return changeYamlText(file, section, changes);
}

/** What `credential_worker.ts` is asked, once in its life: to read a text's entries, or to change some. */
export interface CredentialRequest {
  readonly file: CredentialText;
  readonly section: string;
  readonly changes?: readonly EntryChange[];
}

/** Any number of `entries`, then `done` with the text, or one `failed`. */
export type CredentialReply =
  | { readonly kind: "entries"; readonly entries: readonly CredentialEntry[] }
  | { readonly kind: "done"; readonly text: string }
  | { readonly kind: "failed"; readonly code: ErrorCode; readonly message: string };

async function askWorker(request: CredentialRequest): Promise<{ entries: CredentialEntry[]; text: string }> {
  // all that it needs comes in messages; the parser looks at two variables, and fails where it may not
  const env = ["LOG_TOKENS", "LOG_STREAM"];
  const worker = new Worker(import.meta.resolve("./credential_worker.ts"), {
    type: "module",
    deno: { permissions: { env, ffi: false, net: false, read: false, run: false, sys: false, write: false } },
  });
  const { port1: port, port2: workerPort } = new MessageChannel();
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const entries: CredentialEntry[] = [];
  port.onmessage = ({ data: reply }: MessageEvent<CredentialReply>) => {
    if (reply.kind === "entries") entries.push(...reply.entries);
    else if (reply.kind === "done") resolve(reply.text);
    else reject(new AppError(reply.code, reply.message));
  };
  worker.onerror = (event) => {
    event.preventDefault();
    const { path } = request.file;
    reject(new AppError("internal", `Cannot read ${path}: its worker failed`, { cause: event.message }));
  };
  worker.postMessage(request, [workerPort]);
  try {
    return { text: await promise, entries };
  } finally {
    port.close();
    worker.terminate();
  }
}
