/** Writes the database cluster that the demo starts from; the executable embeds it. */
import { demoHandbookSql } from "../src/demo/demo_handbook.ts";
import { snapshotFile } from "../src/demo/demo_database.ts";
import { createSnapshot } from "../src/postgres/embedded/pglite_instance.ts";

await Deno.mkdir(new URL(".", snapshotFile), { recursive: true });
await Deno.writeFile(snapshotFile, await createSnapshot(await demoHandbookSql()));
