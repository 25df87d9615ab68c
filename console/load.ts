import { useEffect, useRef, useState } from "preact/hooks";
import { askJson, Refused } from "./server.ts";

/** The window's event once a server that went away answers again. */
export const serverBack = "serverback";

export interface Loaded<T> {
  readonly value: T | undefined;
  /** Why the latest reading failed. */
  readonly error: Error | undefined;
  readonly isLoading: boolean;
  readonly again: () => void;
}

/**
 * What `read` resolves to, read anew whenever one of `inputs` changes. `again` reads it once more: meanwhile what is known
 * stays. What is not wanted any more is aborted.
 */
export function useLoaded<T>(
  read: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[] = [],
): Loaded<T> {
  const nothing: Omit<Loaded<T>, "again"> = { value: undefined, error: undefined, isLoading: true };
  const [state, setState] = useState(nothing);
  const current = useRef<AbortController>(undefined);
  function again(): void {
    current.current?.abort();
    const { signal } = current.current = new AbortController();
    setState((before) => before.value === undefined ? nothing : { ...before, isLoading: true });
    const end = (error?: Error, value?: T) => {
      if (signal.aborted) return;
      setState((before) => ({ value: error ? before.value : value, error, isLoading: false }));
      // nobody needs to ask again for what never came to the server
      if (error instanceof Refused && error.status === 0) {
        addEventListener(serverBack, again, { once: true, signal });
      }
    };
    read(signal).then((value) => end(undefined, value), end);
  }
  useEffect(() => {
    setState(nothing);
    again();
    return () => current.current?.abort();
  }, [...inputs]);
  return { ...state, again };
}

/** How often what is watched is read again. */
export const watchedEveryMs = 5_000;

/** What the server answers at `path`, read now and, while it is live and the page is to be seen, every few seconds. */
export function useWatched<T>(path: string, isLive: boolean): Loaded<T> {
  const loaded = useLoaded((signal) => askJson<T>(path, { signal }), [path]);
  useEffect(() => {
    if (!isLive || loaded.isLoading) return;
    const timer = setInterval(() => document.hidden || loaded.again(), watchedEveryMs);
    return () => clearInterval(timer);
  }, [isLive, loaded.isLoading]);
  return loaded;
}

/** One run at a time of what a person starts: it tells whether it runs, and can be stopped. */
export function useRun() {
  const [isRunning, setRunning] = useState(false);
  const current = useRef<AbortController>(undefined);
  const stop = () => current.current?.abort();
  useEffect(() => stop, []);
  return {
    isRunning,
    stop,
    /** `failed` gets the error; none where the run was stopped. */
    async run(
      work: (signal: AbortSignal) => Promise<void>,
      failed: (error?: Error) => void,
    ): Promise<void> {
      stop();
      const aborter = current.current = new AbortController();
      setRunning(true);
      await work(aborter.signal).catch((error) => failed(aborter.signal.aborted ? undefined : error));
      if (current.current === aborter) setRunning(false);
    },
  };
}
