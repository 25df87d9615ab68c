/** Where `tools/build_demo_snapshot.ts` writes a database with the handbook, and where the executable embeds it. */
export const snapshotFile = new URL("../../dist/demo_snapshot.tar.gz", import.meta.url);

/** The file's bytes; undefined where it was not built. To start without it takes two seconds longer. */
export async function readSnapshot(): Promise<Uint8Array | undefined> {
  try {
    return await Deno.readFile(snapshotFile);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
