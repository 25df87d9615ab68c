const unitsPerSlice = 800;

/** Does the work of each item in order and lets the event loop run whenever some 800 units of work are done. */
export async function inSlices<Item>(
  items: readonly Item[],
  work: (item: Item, at: number) => void,
  units: (item: Item) => number,
): Promise<void> {
  let done = 0;
  for (const [at, item] of items.entries()) {
    work(item, at);
    done += units(item);
    if (done < unitsPerSlice) continue;
    done = 0;
    await pause();
  }
}

/** Lets the event loop run once. */
export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
