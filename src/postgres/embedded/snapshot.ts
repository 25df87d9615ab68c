import { startPgliteInstance } from "./pglite_instance.ts";

/** An empty database cluster for `createEmbeddedServer`, a gzip'd tar file of about 5 MB: what initdb makes in two seconds. */
export async function createSnapshot(): Promise<Uint8Array> {
  const instance = await startPgliteInstance({ dataDir: "memory", snapshot: undefined, prepare: [] });
  try {
    return await instance.dump();
  } finally {
    instance.terminate();
  }
}
