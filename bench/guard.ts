/**
 * How long the guard takes for a statement that it has not seen, over the corpus of harmless statements.
 *
 *   deno task bench:guard
 */
import { createStatementGuard } from "../src/postgres/guard/statement_guard.ts";
import { honestStatements } from "../tests/postgres/guard/honest_statements.ts";
import { median, print } from "./measure.ts";

const guard = await createStatementGuard();
const times = honestStatements.map((sql) =>
  median(Array.from({ length: 50 }, (_, run) => {
    // another text each time, since the verdict on the same one is remembered
    const statement = sql + " ".repeat(run);
    const started = performance.now();
    guard.check(statement);
    return performance.now() - started;
  }))
);
print("guard per statement, median (aim: under 0.3 ms)", `${median(times).toFixed(3)} ms`);
print("guard per statement, slowest", `${Math.max(...times).toFixed(3)} ms`);
