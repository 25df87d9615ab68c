import type { Logger } from "../core/logger.ts";
import type { TrailFolder } from "./follow_path.ts";

/**
 * Tells any number of listeners of changes in folders, with one watch of the system's. A process has one of these: the
 * runtime shares its watches of a folder by the folder's path, so that while one is open, another goes on watching the old
 * folder when a new one has taken its place.
 */
export interface FolderWatch extends AsyncDisposable {
  /** Calls `onEvent` after changes of what the listener watches, and where some may have been missed for another's sake. */
  listen(onEvent: () => void): FolderListener;
  close(): Promise<void>;
}

export interface FolderListener {
  /** Watches the entries of these folders in place of those of the last call; what changes after it ends is told. */
  watch(folders: readonly TrailFolder[]): Promise<void>;
  end(): Promise<void>;
}

export function createFolderWatch(options: { logger: Logger }): FolderWatch {
  const { logger } = options;
  const listeners = new Set<Listener>();
  let current: OpenWatch | undefined;
  let turn = Promise.resolve();

  /** Opens a watch of what the listeners want now, unless the one that is open is of just that. */
  function rearm(caller?: Listener): Promise<void> {
    turn = turn.then(async () => {
      const folders = new Map(
        Array.from(listeners).flatMap((listener) => listener.folders).map((
          { path, identity },
        ) => [path, identity]),
      );
      const identity = JSON.stringify(Array.from(folders).toSorted());
      if (identity === current?.identity) return;
      // one that is not closed to the end keeps the runtime from watching a new folder of the same path
      await current?.close();
      current = folders.size === 0 ? undefined : openWatch(Array.from(folders.keys()), identity);
      for (const listener of listeners) if (listener !== caller) listener.onEvent();
    });
    return turn;
  }

  function openWatch(paths: string[], identity: string): OpenWatch {
    let watcher: Deno.FsWatcher;
    try {
      watcher = Deno.watchFs(paths, { recursive: false });
    } catch (error) {
      logger.warn("Cannot watch folders for changes; files are looked at every few seconds", {
        folders: paths,
        error,
      });
      return { identity, close: () => Promise.resolve() };
    }
    const ended = tellOfEvents(watcher).catch((error) =>
      logger.warn("A watch of folders has ended", { error })
    );
    const opened: OpenWatch = {
      identity,
      close() {
        if (current === opened) watcher.close();
        return ended;
      },
    };
    // where it was not closed, the next call opens another
    ended.then(() => current = current === opened ? undefined : current);
    return opened;
  }

  async function tellOfEvents(watcher: Deno.FsWatcher): Promise<void> {
    for await (const { kind, paths, flag } of watcher) {
      // where the system tells of reading, ours would have no end
      if (kind === "access") continue;
      const everything = flag === "rescan" || paths.length === 0;
      for (const { onEvent, folders } of listeners) {
        if (everything || paths.some((path) => folders.some(({ entries }) => entries.has(path)))) onEvent();
      }
    }
  }

  async function close(): Promise<void> {
    listeners.clear();
    await rearm();
  }

  return {
    listen(onEvent) {
      const listener: Listener = { onEvent, folders: [] };
      listeners.add(listener);
      return {
        watch(folders) {
          listener.folders = folders;
          return rearm(listener);
        },
        end() {
          listeners.delete(listener);
          return rearm();
        },
      };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface Listener {
  readonly onEvent: () => void;
  folders: readonly TrailFolder[];
}

interface OpenWatch {
  /** The folders' paths and identities. */
  readonly identity: string;
  /** Ends when the system watches no more. */
  close(): Promise<void>;
}
