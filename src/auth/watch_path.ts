import type { FolderWatch } from "./folder_watch.ts";
import { followPath, type TrailFolder } from "./follow_path.ts";

export interface PathWatchOptions {
  readonly path: string;
  /** Called once after a burst of changes, never while an earlier call is under way; does not throw. */
  readonly onChange: () => Promise<void>;
  readonly folders: FolderWatch;
  readonly debounceMs: number;
  readonly pollMs: number;
}

export interface PathWatch extends AsyncDisposable {
  /** Ends the watch; a call that is under way is waited for. */
  close(): Promise<void>;
}

/**
 * Calls `onChange` once the watch has begun, and after each change of what a path leads to: a write, a rename into its
 * place, a deletion, another target of a symbolic link on the way, a folder on the way replaced. The folders are watched
 * and not the file, since a watch of a file ends in silence when another takes its place. Other files in the folders are
 * no change. A burst ends when nothing has changed for `debounceMs`, or after ten times that.
 *
 * Where the system tells of no changes, as on network file systems, a look at the file every `pollMs` finds them.
 */
export async function watchPath(options: PathWatchOptions): Promise<PathWatch> {
  const { path, debounceMs, pollMs } = options;
  const listener = options.folders.listen(noticeChange);
  let closed = false;
  let seen = "";
  let burst: { timer: ReturnType<typeof setTimeout>; endsAt: number } | undefined;
  let queued = false;
  let polling = false;
  let running = Promise.resolve();

  function noticeChange(): void {
    if (closed) return;
    const now = Date.now();
    const endsAt = burst?.endsAt ?? now + 10 * debounceMs;
    clearTimeout(burst?.timer);
    burst = { endsAt, timer: setTimeout(endBurst, Math.min(debounceMs, Math.max(0, endsAt - now))) };
  }

  function endBurst(): void {
    burst = undefined;
    if (queued) return;
    queued = true;
    running = running.then(look);
  }

  async function look(): Promise<void> {
    queued = false;
    const trail = await followPath(path);
    // before the file is read: the watch sees what changes after that
    await listener.watch(trail);
    if (closed) return;
    seen = await stateOf(path, trail);
    await options.onChange();
  }

  async function poll(): Promise<void> {
    // a file system that does not answer keeps the last one waiting
    if (polling) return;
    polling = true;
    const trail = await followPath(path);
    await listener.watch(trail);
    if (await stateOf(path, trail) !== seen && burst === undefined) noticeChange();
    polling = false;
  }

  await look();
  const poller = setInterval(poll, pollMs);
  Deno.unrefTimer(poller);

  async function close(): Promise<void> {
    closed = true;
    clearInterval(poller);
    clearTimeout(burst?.timer);
    await running;
    await listener.end();
  }
  return { close, [Symbol.asyncDispose]: close };
}

async function stateOf(path: string, trail: readonly TrailFolder[]): Promise<string> {
  const info = await Deno.stat(path).catch(() => undefined);
  const folders = trail.map((folder) => [folder.path, folder.identity, ...folder.entries]);
  return JSON.stringify([folders, info?.dev, info?.ino, info?.size, info?.mtime, info?.mode]);
}
