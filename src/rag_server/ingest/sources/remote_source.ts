import { sleep, withDeadline } from "../../../core/async/deadline.ts";
import type { DocumentResponse } from "../../../http/public_document.ts";
import { askedDelay } from "../../../llm/transport/http_attempt.ts";
import { decodeText } from "../formats/decode_text.ts";
import { formatOf } from "../formats/document_formats.ts";

/** Documents that stand elsewhere than in a folder of this machine. */
export interface RemoteSource {
  /** Lists all that it has. @throws {Error} where the list is not whole, and why */
  list(signal: AbortSignal): Promise<readonly RemoteFile[]>;
  close?(): Promise<void>;
}

/** A file that is read when it is needed. */
export interface RemoteFile {
  /** With `/`. */
  readonly path: string;
  /** In bytes, of a file whose path says its format. */
  readonly size?: number;
  /** Why it is not read, as far as the source knows. */
  readonly reason?: string | undefined;
  /** What its content is known by. Optional: a web server tells it with the content. */
  readonly mark?: string;
  /** @param known its mark at an earlier reading @throws {Error} where it cannot be read now, and why */
  read(known: string | undefined, maxBytes: number, signal: AbortSignal): Promise<RemoteReading>;
}

export type RemoteReading = RemoteContent | "unchanged" | { readonly skipped: string };

interface RemoteContent {
  /** Undefined where there are more than was asked for. */
  readonly bytes: Uint8Array<ArrayBuffer> | undefined;
  readonly mark: string;
  /** Says the format where the path does not. */
  readonly suffix?: string;
}

const mostAttempts = 3;
/** For an attempt, and before the next one. */
const patienceMs = 60_000;

/** Asks again where a server is busy or broken (429, 5xx), after as long as it says. */
export async function askPatiently(
  ask: (soon: AbortSignal) => Promise<DocumentResponse>,
  signal: AbortSignal,
) {
  for (let attempt = 1;; attempt++) {
    const response = await withDeadline(patienceMs, signal, ask);
    const { status, headers } = response;
    if ((status !== 429 && status < 500) || attempt === mostAttempts) return response;
    await sleep(Math.min(askedDelay(headers, Date.now()) ?? attempt * 1_000, patienceMs), signal);
  }
}

/**
 * A text whose encoding the server names, in UTF-8, whatever the text itself says; any other bytes as they are. Servers
 * call PDFs text too, and the parts of an e-mail have encodings of their own.
 *
 * @param name whose suffix says the format
 */
export function inUtf8(bytes: Uint8Array<ArrayBuffer>, name: string, contentType: string) {
  const [, charset] = /^(?:text\/|[^;]*xml\b).*?;\s*charset\s*=\s*"?([\w:.-]+)/i.exec(contentType) ?? [];
  const isText = formatOf(name) !== "e-mail" && new TextDecoder().decode(bytes.subarray(0, 5)) !== "%PDF-";
  const text = isText && charset && decodeText(bytes, charset);
  return text ? Uint8Array.from(new TextEncoder().encode(text)) : bytes;
}
