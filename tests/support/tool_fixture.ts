import assert from "node:assert/strict";
import { silentLogger } from "../../src/core/logger.ts";
import type { Principal } from "../../src/core/principal.ts";
import { createConnectionPools } from "../../src/postgres/pool/connection_pools.ts";
import { createDatabase } from "../../src/postgres/database.ts";
import { createStatementGuard, type StatementGuard } from "../../src/postgres/guard/statement_guard.ts";
import {
  createDatabaseDirectory,
  type DatabaseDirectory,
} from "../../src/tool_server/tools/databases/database_directory.ts";
import type { Tool } from "../../src/tool_server/tools/tool.ts";
import type { TestDatabase } from "./database.ts";
import { databaseOptions } from "./database_options.ts";

export interface ToolFixture extends AsyncDisposable {
  readonly directory: DatabaseDirectory;
  readonly guard: StatementGuard;
}

/** Databases of the real server as the tools see them, under the names given. */
export async function createToolFixture(
  databases: Readonly<
    Record<string, { database: TestDatabase; users?: readonly string[]; maxRows?: number; user?: string }>
  >,
): Promise<ToolFixture> {
  const guard = await createStatementGuard();
  const pools = createConnectionPools({ maxConnections: 20, logger: silentLogger });
  const directory = createDatabaseDirectory(
    Object.entries(databases).map(([name, { database, users = [], ...overrides }]) => ({
      kind: "database" as const,
      name,
      available_to_users: users,
      database: createDatabase({
        options: databaseOptions(database.url, { name, ...overrides }),
        pools,
        guard,
        logger: silentLogger,
      }),
    })),
  );
  return { directory, guard, [Symbol.asyncDispose]: () => pools.close() };
}

export interface ToolOutput {
  readonly text: string;
  readonly isError: boolean;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Calls a tool as a principal, the local one unless another is given. */
export async function callTool(
  tool: Tool,
  args: unknown,
  principal: Principal = { kind: "local" },
): Promise<ToolOutput> {
  const result = await tool.prepare(args)({
    principal,
    signal: new AbortController().signal,
    logger: silentLogger,
  });
  const [content] = result.content;
  assert.ok(content?.type === "text");
  return { text: content.text, isError: result.isError ?? false, data: result.structuredContent ?? {} };
}
