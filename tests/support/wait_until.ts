/** Waits until a condition holds; fails, naming it, after thirty seconds. */
export async function waitUntil(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (!await holds()) {
    if (Date.now() > deadline) throw new Error(`never came true: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
