import { startPgliteInstance } from "./pglite_instance.ts";

/**
 * A database cluster for `createEmbeddedServer`, a gzip'd tar file of 5 to 6 MB: what initdb makes in two seconds, and
 * what the superuser's SQL in `prepare` put into it.
 */
export async function createSnapshot(prepare: readonly string[] = []): Promise<Uint8Array> {
  const instance = await startPgliteInstance({
    dataDir: "memory",
    snapshot: undefined,
    // so that a start has nothing to recover from the log
    prepare: () => [...prepare, "CHECKPOINT"],
  });
  try {
    return await instance.dump();
  } finally {
    instance.terminate();
  }
}
