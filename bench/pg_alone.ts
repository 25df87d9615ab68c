// @ts-types="@types/pg-cursor"
import Cursor from "pg-cursor";
import { pg } from "../src/postgres/connection.ts";

const begin = "BEGIN READ ONLY; SET LOCAL statement_timeout = 30000; SET LOCAL lock_timeout = 30000; " +
  "SET LOCAL idle_in_transaction_session_timeout = 60000; SET LOCAL standard_conforming_strings = on";

/** How often `pg` alone runs the transaction that the server runs for `SELECT 1`, on so many connections at once. */
export async function transactionsPerSecond(
  options: { url: string; connections: number; seconds: number },
): Promise<number> {
  const clients = Array.from({ length: options.connections }, () => new pg.Client(options.url));
  await Promise.all(clients.map((client) => client.connect()));
  const started = performance.now();
  const deadline = started + options.seconds * 1000;
  const counts = await Promise.all(clients.map(async (client) => {
    let count = 0;
    for (; performance.now() < deadline; count++) {
      await client.query(begin);
      const cursor = client.query(new Cursor("SELECT 1", [], { rowMode: "array" }));
      await cursor.read(101);
      await cursor.close();
      await client.query("ROLLBACK");
    }
    return count;
  }));
  const seconds = (performance.now() - started) / 1000;
  await Promise.all(clients.map((client) => client.end()));
  return counts.reduce((sum, count) => sum + count, 0) / seconds;
}
