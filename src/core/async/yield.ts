/** How long items are worked on until other work of the process may go on. */
const sliceMs = 4;

/** Lets everything else go on first. By a timer, since Deno answers no HTTP between two callbacks of setImmediate. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/**
 * For long work in small pieces. What it returns is called before each piece: it yields where the pieces since the last
 * time have taken some milliseconds, and throws the signal's reason once that has aborted.
 */
export function createSlices(signal?: AbortSignal): () => Promise<void> | undefined {
  let startedAt = performance.now();
  return () => {
    signal?.throwIfAborted();
    if (performance.now() - startedAt < sliceMs) return undefined;
    return yieldToEventLoop().then(() => {
      signal?.throwIfAborted();
      startedAt = performance.now();
    });
  };
}

/** Calls `visit` for each item in order, without keeping the event loop for longer than some milliseconds and one item. */
export async function forEachInSlices<T>(items: Iterable<T>, visit: (item: T) => void): Promise<void> {
  const nextSlice = createSlices();
  for (const item of items) {
    visit(item);
    const yielded = nextSlice();
    if (yielded !== undefined) await yielded;
  }
}
