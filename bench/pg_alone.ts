import { pg } from "../src/postgres/connection.ts";
import { openPortal } from "../src/postgres/read/portal.ts";

/** How long `pg` alone takes for the transaction that the server runs for `SELECT 1`: milliseconds, the shortest first. */
export async function transactionTimes(client: pg.Client, count: number): Promise<Float64Array> {
  const times = new Float64Array(count);
  for (let at = 0; at < count; at++) {
    const started = performance.now();
    await openPortal(client, {
      sql: "SELECT 1",
      parameters: [],
      rows: 101,
      onColumns: () => {},
      onRow: () => {},
    }, { before: [["BEGIN READ ONLY"]], after: [["ROLLBACK"]] });
    times[at] = performance.now() - started;
  }
  return times.sort();
}
