import { type Load, over } from "../load.ts";
import { expectRow, whereAmI } from "../tool_calls.ts";

/** Asks a database that has standbys. */
export async function spreadCaller(load: Load, token: string, database: string): Promise<void> {
  const { fleet, ledger } = load;
  await over(load, "spread database", 400, async () => {
    const { query, row } = whereAmI();
    const who = "a caller of standbys";
    const url = fleet.balancer.tools;
    if (await expectRow(ledger, { url, token, who, query, database, expected: [row(database)] })) {
      ledger.count("rows of standbys");
    }
  });
}
