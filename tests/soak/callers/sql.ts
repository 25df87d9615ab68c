import { hers, people } from "../fleet.ts";
import { type Load, over, pick } from "../load.ts";
import { callTool, expectRow, isFailed, whereAmI } from "../tool_calls.ts";

/** An API token asks databases by name, chooses one, and tries what it may not use. */
export async function sqlCaller(load: Load, token: string): Promise<void> {
  const { fleet, ledger } = load;
  const url = fleet.balancer.tools;
  const who = "an API token";
  await over(load, "API token", 250, async () => {
    const { query, row } = whereAmI();
    const database = pick(load, fleet.open);
    await expectRow(ledger, { url, token, who, query, database, expected: [row(database)] });
    if (load.random() < 0.1) await mustNotUse(load, token, hers);
    if (load.random() < 0.1) await seesNobodysRows(load, token);
    if (load.random() < 0.1) await chooseAndAsk(load, token, who);
  });
}

/** Selects a database, and asks without a name once all replicas know. */
export async function chooseAndAsk(load: Load, token: string, who: string): Promise<void> {
  const { fleet, ledger } = load;
  const url = fleet.balancer.tools;
  const name = pick(load, fleet.open);
  const chosen = await callTool(ledger, url, token, "select_database", { name });
  // whether it was chosen nobody knows
  if (chosen === undefined || isFailed(ledger, chosen)) return;
  if (chosen.error !== undefined || chosen.status !== 200) {
    return ledger.fail(`select_database ${name} of ${who} was answered with ${chosen.status} ${chosen.text}`);
  }
  await new Promise((resolve) => setTimeout(resolve, 1_000 + ledger.lagMs()));
  for (let each = 0; each < 3; each++) {
    const { query, row } = whereAmI();
    const isKnown = ledger.near("isolates", chosen.sentAt, Date.now()).length === 0;
    const expected = isKnown ? [row(name)] : fleet.open.map(row);
    await expectRow(ledger, { url, token, who: `${who} that chose ${name}`, query, expected });
  }
}

/** An API token is no user, and has no rows of anybody's. */
async function seesNobodysRows({ fleet, ledger }: Load, token: string): Promise<void> {
  const args = { query: "SELECT text FROM notes", database: people };
  const answer = await callTool(ledger, fleet.balancer.tools, token, "query_database", args);
  if (answer === undefined || isFailed(ledger, answer)) return;
  if (answer.rows?.length !== 0) {
    ledger.fail(`an API token read users' rows: ${answer.status} ${answer.text}`);
  }
  ledger.count("rights refused");
}

/** A database that does not exist for it. */
export async function mustNotUse(load: Load, token: string, database: string): Promise<void> {
  const { fleet: { balancer }, ledger } = load;
  const args = { query: "SELECT name FROM place", database };
  const answer = await callTool(ledger, balancer.tools, token, "query_database", args);
  if (answer === undefined) return;
  if (answer.rows !== undefined || answer.error === undefined) {
    ledger.fail(`the database ${database} answered who may not use it: ${answer.status} ${answer.text}`);
  }
  ledger.count("rights refused");
}
