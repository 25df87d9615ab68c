import { AppError } from "../../core/app_error.ts";
import { withDeadline } from "../../core/async/deadline.ts";
import { parseUnambiguous } from "../../core/claims.ts";

/** For which an issuer is waited. */
export const timeoutMs = 5_000;
const maxBytes = 256 * 1024;

/** What an issuer answers with where it does not answer with status 200. */
export class IssuerStatus extends AppError {
  constructor(url: string, readonly status: number) {
    super("unavailable", `Cannot read ${url}: it answered with HTTP status ${status}`);
  }
  /** Whether what was asked may be elsewhere now. */
  get hasMoved(): boolean {
    return [301, 302, 303, 307, 308, 404, 405, 410].includes(this.status);
  }
}

/** An issuer that does not answer at all. */
export class IssuerUnreachable extends AppError {
  constructor(url: string, reason: string, cause: unknown) {
    super("unavailable", `Cannot read ${url}: ${reason}`, { cause });
  }
}

/**
 * The JSON that an address of an issuer answers with, of at most 256 KiB and within 5 s. No redirect is followed: where the
 * answer comes from was decided by whoever gave the address.
 *
 * @throws {AppError} `unavailable`; the signal's reason where that aborts
 */
export async function fetchJson(url: string, signal: AbortSignal, init: RequestInit = {}): Promise<unknown> {
  const headers = { accept: "application/json", ...init.headers };
  try {
    return await withDeadline(timeoutMs, signal, async (soon) => {
      const response = await fetch(url, { ...init, headers, redirect: "manual", signal: soon });
      if (response.status !== 200) {
        await response.body?.cancel();
        throw new IssuerStatus(url, response.status);
      }
      return parseJson(await readText(response, url), url);
    });
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof AppError) throw thrown;
    const isLate = thrown instanceof DOMException && thrown.name === "TimeoutError";
    const reason = isLate ? `no answer within ${timeoutMs / 1_000} s` : "the connection failed";
    throw new IssuerUnreachable(url, reason, thrown);
  }
}

/** @throws {AppError} `unavailable` where it is longer than 256 KiB */
export async function readText(response: Response, url: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    // leaving the loop cancels the rest
    if (bytes > maxBytes) {
      throw new AppError("unavailable", `Cannot read ${url}: the answer is longer than ${maxBytes} bytes`);
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** The parser's own message quotes the text. */
function parseJson(text: string, url: string): unknown {
  try {
    return parseUnambiguous(text);
  } catch {
    throw new AppError("unavailable", `Cannot read ${url}: the answer is no JSON, or has a name twice`);
  }
}
