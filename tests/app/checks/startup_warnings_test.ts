import assert from "node:assert/strict";
import { createLogger, silentLogger } from "../../../src/core/logger.ts";
import { createDatabase } from "../../../src/postgres/database.ts";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";
import { createConnectionPools } from "../../../src/postgres/pool/connection_pools.ts";
import { requireTestDatabaseUrl, testWithPostgres } from "../../support/database.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { logStartupWarnings } from "../../../src/app/checks/startup_warnings.ts";

testWithPostgres(
  "a database whose connections the server closes itself is not told to be unready",
  async () => {
    const pools = createConnectionPools({ maxConnections: 4, logger: silentLogger });
    const lines: string[] = [];
    const logger = createLogger({ level: "debug", format: "text", write: (line) => void lines.push(line) });
    const options = databaseOptions(requireTestDatabaseUrl());
    const guard = await createStatementGuard();
    const database = createDatabase({ options, pools, guard, logger: silentLogger });
    const told = logStartupWarnings([{ database, options, settingAt: () => "" }], logger);
    await pools.close();
    await told;
    assert.deepEqual(lines, []);
  },
);
