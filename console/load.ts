import { useCallback, useEffect, useRef, useState } from "preact/hooks";

export type Loaded<T> =
  | { readonly kind: "loading" }
  | { readonly kind: "failed"; readonly error: Error }
  | { readonly kind: "loaded"; readonly value: T };

/**
 * What `read` resolves to, read again whenever one of `inputs` changes or `again` is called. What is not wanted any more is
 * aborted.
 */
export function useLoaded<T>(
  read: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
): { readonly state: Loaded<T>; readonly again: () => void } {
  const [state, setState] = useState<Loaded<T>>({ kind: "loading" });
  const [count, setCount] = useState(0);
  useEffect(() => {
    const aborter = new AbortController();
    setState({ kind: "loading" });
    read(aborter.signal).then(
      (value) => aborter.signal.aborted || setState({ kind: "loaded", value }),
      (error) => aborter.signal.aborted || setState({ kind: "failed", error }),
    );
    return () => aborter.abort();
  }, [...inputs, count]);
  return {
    state,
    again: useCallback(() => setCount((before) => before + 1), []),
  };
}

/** One run at a time of what a person starts: it tells whether it runs, and can be stopped. */
export function useRun() {
  const [isRunning, setRunning] = useState(false);
  const current = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => current.current?.abort(), []);
  return {
    isRunning,
    stop: () => current.current?.abort(),
    async run(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
      current.current?.abort();
      const aborter = current.current = new AbortController();
      setRunning(true);
      try {
        await work(aborter.signal);
      } finally {
        if (current.current === aborter) setRunning(false);
      }
    },
  };
}
