import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import { createDatabase } from "../../../src/postgres/database.ts";
import type { DatabaseOptions } from "../../../src/postgres/database_options.ts";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";
import { createConnectionPools } from "../../../src/postgres/pool/connection_pools.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { startCluster, testWithCluster } from "../../support/postgres_cluster.ts";
import { assertFault } from "./fixture.ts";
import { doctor } from "../../../src/app/checks/all_checks.ts";

const { signal } = new AbortController();

testWithCluster("the doctor tells apart why a server lets a role not in, and what mends each", async () => {
  await using cluster = await startCluster();
  for (
    const statement of [
      "CREATE ROLE reader LOGIN PASSWORD 'right'",
      "CREATE ROLE closed PASSWORD 'right'",
      "CREATE DATABASE other",
      "REVOKE CONNECT ON DATABASE other FROM PUBLIC",
    ]
  ) await cluster.query(statement);
  await cluster.setHostRules([
    "host postgres nobody 127.0.0.1/32 trust",
    "host absent,other,postgres reader,closed,stranger 127.0.0.1/32 scram-sha-256",
    "host all ident 127.0.0.1/32 ident",
  ]);
  const password = "right";
  const cases: [changes: Partial<DatabaseOptions>, message: RegExp, remedy: RegExp][] = [
    [
      { user: "reader" },
      /asks for a password, and none is set for role "reader"/,
      /password_file[^]*PGPASSWORD[^]*~\/\.pgpass/,
    ],
    [
      { user: "reader", password: "wrong" },
      /refused the credentials of role "reader"/,
      /^-- Correct the password/,
    ],
    [{ user: "nobody" }, /role "nobody" does not exist/, /CREATE ROLE nobody LOGIN/],
    [{ user: "closed", password }, /role "closed" is not permitted to log in/, /^ALTER ROLE closed LOGIN;$/],
    [
      { user: "elsewhere" },
      /does not admit role "elsewhere" from here/,
      /pg_hba\.conf[^]*host postgres elsewhere/,
    ],
    [{ user: "ident" }, /Ident authentication failed for user "ident"/, /scram-sha-256/],
    [
      { user: "reader", password, database: "absent" },
      /database "absent" does not exist/,
      /CREATE DATABASE absent;$/,
    ],
    [
      { user: "reader", password, database: "other" },
      /permission denied for database "other"/,
      /^GRANT CONNECT ON DATABASE other TO reader;$/,
    ],
    [
      { hosts: [{ host: "127.0.0.1", port: 1 }] },
      /^Cannot reach database "shop": connection refused$/,
      /pg_isready -h 127\.0\.0\.1 -p 1$/,
    ],
  ];
  for (const [changes, message, remedy] of cases) {
    await using pools = createConnectionPools({ maxConnections: 4, logger: silentLogger });
    const options = databaseOptions(`postgres://postgres@127.0.0.1:${cluster.port}/postgres`, changes);
    const guard = await createStatementGuard();
    const database = createDatabase({ options, pools, guard, logger: silentLogger });
    const [diagnosis] = await doctor({
      pipelines: [],
      databases: [{ database, options }],
      signal,
      logger: silentLogger,
    });
    const told = assertFault(diagnosis?.results ?? [], "error", message);
    assert.match(told, remedy);
    assert.doesNotMatch(
      told,
      changes.user === "elsewhere" ? /GRANT/ : /pg_hba\.conf, then SELECT[^]*hostssl/,
    );
  }
});
