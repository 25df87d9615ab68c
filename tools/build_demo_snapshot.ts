/** Writes the database cluster that the demo starts from; the executable embeds it. */
import { snapshotFile } from "../src/app/demo/snapshot_file.ts";
import { createSnapshot } from "../src/postgres/embedded/snapshot.ts";

await Deno.mkdir(new URL(".", snapshotFile), { recursive: true });
await Deno.writeFile(snapshotFile, await createSnapshot());
