import { settlesWithin } from "../async/deadline.ts";

/**
 * Tells of changes of files, by looking at them every 50 ms. One watch serves the whole process.
 *
 * The runtime's own watch is not used, since it can freeze the process: it opens the file that an event names. Where that
 * is a pipe, which anybody may put into a watched folder, the open never ends, and the next call waits for it on the event
 * loop's thread. See `docs/adr/0010-files-are-looked-at.md`.
 */
export interface FileWatch extends Disposable {
  /**
   * Calls `onChange` at once, and then after each change of what one of the paths leads to: a write, a rename into its
   * place, a deletion, another target of a symbolic link on the way, a folder on the way replaced. A burst of changes is
   * told once, at its end. `onChange` may be called without a change, so it compares what it reads with what it has.
   */
  watch(options: WatchOptions): Promise<WatchedFiles>;
  /** Has every `onChange` called now, whether something has changed or not. */
  lookAtAll(): void;
}

export interface WatchOptions {
  readonly paths: readonly string[];
  /**
   * Never called while an earlier call is under way. It must not throw, and must not open what is not a regular file: to
   * open a pipe takes until somebody writes to it.
   */
  readonly onChange: (look: Look) => Promise<void>;
}

/** Why and on what `onChange` is called. */
export interface Look {
  /** Whether lookAtAll() is why. */
  readonly asked: boolean;
  /**
   * Whether the files are still as they were when this call began. To be asked after they were read: where they are not,
   * what was read may be half of a write, and another call follows.
   */
  isCurrent(): Promise<boolean>;
}

export interface WatchedFiles extends AsyncDisposable {
  /** Ends the watch; a call that is under way is waited for, but not for long. */
  end(): Promise<void>;
}

/** How often the files are looked at. A look is one stat() for each, which takes some 20 µs. */
const lookEveryMs = 50;
/** A file that changed so short a time ago may change again unseen: file systems count time in steps of milliseconds. */
const youngMs = 50;
/** A file that changes without a pause is read after so long all the same. */
const longestBurstMs = 1_000;
/** How long end() waits for a call that is under way: a file system may not answer. */
const longestEndMs = 1_000;

/** @param options.settleMs how long files must be left alone before they are read: a program may be writing them still; 75 */
export function createFileWatch({ settleMs = 75 }: { settleMs?: number } = {}): FileWatch {
  const watched = new Set<Watched>();
  let timer: ReturnType<typeof setInterval> | undefined;

  function begin(each: Watched): void {
    watched.add(each);
    if (timer !== undefined) return;
    timer = setInterval(() => {
      for (const each of watched) each.look();
    }, lookEveryMs);
    Deno.unrefTimer(timer);
  }

  function close(each: Watched): void {
    each.close();
    watched.delete(each);
    if (watched.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  return {
    async watch(options) {
      const each = createWatched(options, settleMs);
      await each.call({ asked: false });
      begin(each);
      return {
        end: () => end(each),
        [Symbol.asyncDispose]: () => end(each),
      };
    },
    lookAtAll() {
      for (const each of watched) void each.call({ asked: true });
    },
    [Symbol.dispose]() {
      for (const each of watched) close(each);
    },
  };

  async function end(each: Watched): Promise<void> {
    close(each);
    await settlesWithin(longestEndMs, each.running());
  }
}

type Watched = ReturnType<typeof createWatched>;

interface Burst {
  readonly state: string;
  readonly startedAt: number;
  readonly changedAt: number;
}

function createWatched({ paths, onChange }: WatchOptions, settleMs: number) {
  let seen = "";
  // two changes in one step of the file system's clock look like one
  let isYoung = false;
  let burst: Burst | undefined;
  let settled: ReturnType<typeof setTimeout> | undefined;
  let isLooking = false;
  let isClosed = false;
  let current: Promise<void> | undefined;
  let askedAgain = false;

  async function look(): Promise<void> {
    const { state } = await stateOf(paths);
    // nothing is told of while it is being read: the next look compares with what was there before
    if (isClosed || current !== undefined) return;
    if (state === seen && !isYoung) {
      endBurst();
      return;
    }
    const now = performance.now();
    if (burst?.state !== state) {
      burst = { state, startedAt: burst?.startedAt ?? now, changedAt: now };
      clearTimeout(settled);
      settled = setTimeout(lookOnce, settleMs);
      Deno.unrefTimer(settled);
    }
    if (now - burst.changedAt >= settleMs - 1 || now - burst.startedAt >= longestBurstMs) {
      await call({ asked: false, state });
    }
  }

  /** @param call.state of the files, where it is known to have been so for a while */
  async function call({ asked, state }: { asked: boolean; state?: string }): Promise<void> {
    if (current !== undefined) {
      askedAgain ||= asked;
      return;
    }
    endBurst();
    const { promise, resolve } = Promise.withResolvers<void>();
    current = promise;
    try {
      // before the files are read: what changes after that is a change
      const found = state === undefined ? await stateOf(paths) : { state, changedAt: 0 };
      seen = found.state;
      isYoung = found.changedAt > Date.now() - youngMs;
      if (!isClosed) await onChange({ asked, isCurrent });
    } finally {
      current = undefined;
      resolve();
    }
    if (!askedAgain || isClosed) return;
    askedAgain = false;
    await call({ asked: true });
  }

  function lookOnce(): void {
    // a file system that does not answer keeps the last look waiting, and one thread
    if (isLooking) return;
    isLooking = true;
    void look().finally(() => isLooking = false);
  }

  function endBurst(): void {
    burst = undefined;
    clearTimeout(settled);
  }

  const isCurrent = async () => (await stateOf(paths)).state === seen;

  return {
    look: lookOnce,
    call,
    running: () => current ?? Promise.resolve(),
    close(): void {
      isClosed = true;
      endBurst();
    },
  };
}

/** Where the same state comes back, what the paths lead to is the same. Nothing is opened. */
async function stateOf(paths: readonly string[]): Promise<{ state: string; changedAt: number }> {
  let changedAt = 0;
  const states = await Promise.all(paths.map(async (path) => {
    try {
      const { dev, ino, size, mode, mtime, ctime } = await Deno.stat(path);
      const times = [mtime?.getTime() ?? 0, ctime?.getTime() ?? 0];
      changedAt = Math.max(changedAt, ...times);
      return [dev, ino, size, mode, ...times].join(":");
    } catch (error) {
      return error instanceof Error ? error.name : "unknown";
    }
  }));
  return { state: states.join(" "), changedAt };
}
