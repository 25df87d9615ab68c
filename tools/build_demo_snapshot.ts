/** Writes the database cluster that the demo starts from; the executable embeds it. */
import { demoHandbookSql } from "../src/demo/demo_handbook.ts";
import { snapshotFile } from "../src/demo/demo_database.ts";
import { createSnapshot } from "../src/postgres/embedded/pglite_instance.ts";

// the same sources make the same bytes
const SystemWorker = Worker;
globalThis.Worker = class extends SystemWorker {
  constructor(module: string | URL, options?: WorkerOptions) {
    const repeatable = new URL("./repeatable_worker.ts", import.meta.url);
    repeatable.searchParams.set("module", String(module));
    super(repeatable, options);
  }
};

await Deno.mkdir(new URL(".", snapshotFile), { recursive: true });
await Deno.writeFile(snapshotFile, await createSnapshot(await demoHandbookSql()));
