import { sleep } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";
import { startSha256 } from "../../core/text/sha256.ts";
import { findFiles } from "../../rag_server/ingest/find_files.ts";

interface WatchSourcesOptions {
  /** Brings all sources up to date. The signal is for one that does not end by itself. */
  readonly ingestOnce: (signal: AbortSignal) => Promise<void>;
  /** Folders and files on disk. */
  readonly paths: readonly string[];
  /** How often everything is ingested where no look shows a change: other sources are asked then. 5 minutes. */
  readonly pollMs?: number | undefined;
  readonly stopping: AbortSignal;
  readonly logger: Logger;
  /** Optional; the default is 1 second. */
  readonly lookEveryMs?: number;
}

const retryMs = 60_000;
const longestEndMs = 20_000;
/** Of the time, for looks at many files. */
const lookShare = 0.2;

/** Ingests, and again when files have changed and then been left alone for a moment. What fails is told, and tried again. */
export async function watchSources(options: WatchSourcesOptions): Promise<void> {
  const { ingestOnce, paths, pollMs = 300_000, stopping, logger, lookEveryMs = 1_000 } = options;
  const work = new AbortController();
  stopping.addEventListener("abort", () => {
    Deno.unrefTimer(setTimeout(() => work.abort(stopping.reason), longestEndMs));
  });
  let told = "";
  while (!stopping.aborted) {
    // before the files are read: what changes after that is a change
    const before = await stateOf(paths);
    const message = await ingestOnce(work.signal).then(() => "", messageOf);
    if (message !== "" && message !== told && !stopping.aborted) logger.error(message);
    told = message;
    const pollAt = performance.now() + (message === "" ? pollMs : Math.min(pollMs, retryMs));
    for (let last = before; !stopping.aborted && performance.now() < pollAt;) {
      const start = performance.now();
      const state = await stateOf(paths);
      if (state !== before && state === last) break;
      last = state;
      await sleep(Math.max(lookEveryMs, (performance.now() - start) / lookShare), stopping).catch(() => {});
    }
  }
}

const messageOf = (error: unknown) => error instanceof Error ? error.message : String(error);

/** Where it comes back the same, no file has changed. Nothing is opened: a pipe would hold the process up. */
async function stateOf(paths: readonly string[]): Promise<string> {
  const state = startSha256();
  const { signal } = new AbortController();
  for (const location of paths) {
    const isFolder = await Deno.stat(location).then((info) => info.isDirectory, () => true);
    const scope = { location, path: location, isFolder };
    const { files, failed } = await findFiles([scope], { maxFileBytes: Infinity, signal });
    for (const file of files) {
      const { ino, size, ctime } = await Deno.stat(file.location).catch(() => ({}) as Partial<Deno.FileInfo>);
      state.update(JSON.stringify([file.path, ino, size, ctime]));
    }
    state.update(JSON.stringify(failed));
  }
  return state.digest("hex");
}
