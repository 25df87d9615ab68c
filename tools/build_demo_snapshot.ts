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
// whole or not at all: a demo may be about to read it
const made = new URL(`${snapshotFile}.${Deno.pid}`);
await Deno.writeFile(made, await createSnapshot(await demoHandbookSql()));
await Deno.rename(made, snapshotFile);
