import { AppError, type ErrorCode } from "../../core/app_error.ts";
import type { CredentialEntry, EntryChange } from "./credential_entries.ts";
import type { CredentialText } from "./credential_file.ts";

/** What `credential_worker.ts` is asked, once in its life: to read a text's entries, or to change some. */
export interface CredentialRequest {
  readonly file: CredentialText;
  readonly section: string;
  readonly changes?: readonly EntryChange[];
}

/** Any number of `entries`, then `done`, or one `failed`. */
export type CredentialReply =
  | { readonly kind: "entries"; readonly entries: readonly CredentialEntry[] }
  | { readonly kind: "done"; readonly text?: string }
  | { readonly kind: "failed"; readonly code: ErrorCode; readonly message: string };

/** readEntries() in a worker. */
export async function readInWorker(
  file: CredentialText,
  section: string,
): Promise<readonly CredentialEntry[]> {
  const entries: CredentialEntry[] = [];
  await ask({ file, section }, (some) => entries.push(...some));
  return entries;
}

/** changeDocument() in a worker. */
export async function changeInWorker(
  file: CredentialText,
  section: string,
  changes: readonly EntryChange[],
): Promise<string> {
  return await ask({ file, section, changes }) ?? file.text;
}

async function ask(
  request: CredentialRequest,
  onEntries: (entries: readonly CredentialEntry[]) => void = () => {},
): Promise<string | undefined> {
  const worker = new Worker(import.meta.resolve("./credential_worker.ts"), { type: "module" });
  const { port1: port, port2: workerPort } = new MessageChannel();
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  port.onmessage = ({ data: reply }: MessageEvent<CredentialReply>) => {
    if (reply.kind === "entries") onEntries(reply.entries);
    else if (reply.kind === "done") resolve(reply.text);
    else reject(new AppError(reply.code, reply.message));
  };
  worker.onerror = (event) => {
    event.preventDefault();
    reject(
      new AppError("internal", `Cannot read ${request.file.path}: its worker failed`, {
        cause: event.message,
      }),
    );
  };
  worker.postMessage(request, [workerPort]);
  try {
    return await promise;
  } finally {
    port.close();
    worker.terminate();
  }
}
