import { AppError } from "../../core/app_error.ts";
import type { Logger } from "../../core/logger.ts";
import type { FileWatch, Look } from "../../core/files/watch_files.ts";
import { readCredentialText } from "./credential_file.ts";
import type { CredentialText } from "./yaml_entries.ts";
import { sha256 } from "../../core/text/sha256.ts";

export interface CredentialWatcherOptions<T> {
  readonly path: string;
  /** The text that the caller has loaded already. Optional: none where there was no file. */
  readonly loaded?: string;
  /** Makes the data that the server works with from a text; throws where the text cannot be used. */
  readonly load: (file: CredentialText) => T | Promise<T>;
  /** Puts new data in the place of the old, all at once. */
  readonly onReload: (data: T) => void;
  /** Told the reason that is in the log; the old data stays. */
  readonly onError?: (reason: string) => void;
  readonly files: FileWatch;
  readonly logger: Logger;
}

export type CredentialWatcher = Awaited<ReturnType<typeof createCredentialWatcher>>;

/**
 * Loads a credential file again whenever its content changes, and at once where it is not the content of `loaded`. A file
 * that is deleted, cannot be read or does not load leaves the old data; the next that loads takes its place. Logs
 * `[AUTH] Reloaded <path>` and `[AUTH] Failed to reload <path>: <reason>`, and nothing for a content that is loaded already.
 */
export async function createCredentialWatcher<T>(options: CredentialWatcherOptions<T>) {
  const { path, load, onReload, onError, files, logger } = options;
  let closed = false;
  let existed = options.loaded !== undefined;
  // the digest of what is loaded, then those of our own writes on top of it
  let known = [digest(options.loaded)];
  // the digest and the reason of an error that is in the log
  let logged: string | undefined;

  async function check({ asked, isCurrent }: Look): Promise<void> {
    let text: string | undefined;
    // who asks for a look is told of the error again
    if (asked && logged !== undefined) logged = "";
    try {
      const file = await readCredentialText(path);
      text = file?.text;
      if (file === undefined && !existed) return;
      if (file === undefined) throw new AppError("not_found", `Cannot read ${path}: the file does not exist`);
      existed = true;
      if (logged === undefined && isKnown(digest(text))) return;
      if (!await isCurrent()) return;
      const data = await load(file);
      if (closed) return;
      onReload(data);
      known = [digest(text)];
      logged = undefined;
      logger.info(`[AUTH] Reloaded ${path}`);
    } catch (error) {
      if (!closed) report(error, digest(text));
    }
  }

  function isKnown(found: string): boolean {
    const index = known.indexOf(found);
    // an older text comes back only where somebody else writes it
    if (index > 0) known = known.slice(index);
    return index >= 0;
  }

  function report(error: unknown, found: string): void {
    const reason = reasonOf(error, path);
    if (logged === found + reason) return;
    logged = found + reason;
    logger.error(`[AUTH] Failed to reload ${path}: ${reason}`);
    if (!(error instanceof AppError)) logger.debug(`Cannot load ${path}`, { error });
    onError?.(reason);
  }

  const watch = await files.watch({ paths: [path], onChange: check });

  /** Nothing is loaded or reported afterwards. */
  async function close(): Promise<void> {
    closed = true;
    await watch.end();
  }
  return {
    /**
     * Tells that this process is about to replace the file's text `before` (undefined: no file) by `after` and has the
     * change in its data already. Call it with the file's lock held, before the write. The file is then not loaded for
     * that write, unless `before` holds another writer's change that has not been loaded.
     */
    expectWrite(before: string | undefined, after: string): void {
      if (known.includes(digest(before))) known.push(digest(after));
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function digest(text = ""): string {
  return sha256(text);
}

// the log line names the path already; an unexpected error may quote the file's text
function reasonOf(error: unknown, path: string): string {
  if (!(error instanceof AppError)) return "an unexpected fault in the server";
  return error.message.replace(`Cannot read ${path}: `, "").replace(`Cannot read ${path}, `, "");
}
