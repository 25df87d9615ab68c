import { silentLogger } from "../../../src/core/logger.ts";
import type { Principal } from "../../../src/core/principal.ts";
import { createChanges } from "../../../src/tool_server/changes.ts";
import { createCompleteNames } from "../../../src/tool_server/resources/complete_names.ts";
import {
  databasesResource,
  systemInfoResource,
} from "../../../src/tool_server/resources/database_resources.ts";
import { createResourceRegistry } from "../../../src/tool_server/resources/resource_registry.ts";
import { schemaResource, tableResource } from "../../../src/tool_server/resources/schema_resources.ts";
import { createSchemaChanges } from "../../../src/tool_server/resources/schema_changes.ts";
import type { DatabaseDirectory } from "../../../src/tool_server/tools/databases/database_directory.ts";

export const local: Principal = { kind: "local" };
export const user = (username: string, scopes?: readonly string[]): Principal => ({
  kind: "session",
  id: `session of ${username}`,
  username,
  ...(scopes === undefined ? {} : { scopes }),
});

export const contextOf = (principal: Principal) => ({
  principal,
  signal: new AbortController().signal,
  logger: silentLogger,
});

/** The built-in resources over the databases of a directory, under a clock that a test turns. */
export function createResourceFixture(
  directory: DatabaseDirectory,
  { scopes, lookEveryMs = 30_000 }: { scopes?: readonly string[]; lookEveryMs?: number } = {},
) {
  const clock = { now: 0 };
  const changes = createChanges();
  const schemaChanges = createSchemaChanges({
    directory,
    changes,
    now: () => clock.now,
    logger: silentLogger,
    lookEveryMs,
  });
  const { catalogs } = schemaChanges;
  const completeNames = createCompleteNames({ directory, catalogs });
  const registry = createResourceRegistry([
    databasesResource({ directory }),
    systemInfoResource({ directory }),
    schemaResource({ directory, catalogs, completeNames, scopes }),
    tableResource({ directory, completeNames, scopes }),
  ]);
  return {
    clock,
    changes,
    schemaChanges,
    registry,
    completeNames,
    /** What a resource of JSON holds. */
    async read(uri: string, principal = local) {
      const { contents } = await registry.read(uri, contextOf(principal));
      return JSON.parse(contents[0]?.text ?? "");
    },
    [Symbol.dispose]: schemaChanges[Symbol.dispose],
  };
}
