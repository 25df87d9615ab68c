/** How long items are worked on until other work of the process gets its turn. */
const sliceMs = 4;

/** Calls `visit` for each item in order, without keeping the event loop for longer than some milliseconds and one item. */
export async function forEachInSlices<T>(items: Iterable<T>, visit: (item: T) => void): Promise<void> {
  let startedAt = performance.now();
  for (const item of items) {
    visit(item);
    if (performance.now() - startedAt < sliceMs) continue;
    await pause();
    startedAt = performance.now();
  }
}

/** Does pieces of work that come at the same time one by one, and lets everything else have its turn between them. */
export function createWorkQueue(): <T>(work: () => T) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = last.then(pause).then(work);
    last = done.catch(() => {});
    return done;
  };
}

/** Lets everything else have its turn. By a timer, since Deno answers no HTTP between two callbacks of setImmediate. */
export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
