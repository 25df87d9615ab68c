import type { Database } from "../../postgres/database.ts";
import type { DatabaseOptions } from "../../postgres/database_options.ts";
import { isReadAsCallers } from "../../postgres/read/caller_settings.ts";
import { isolationFaults, rolesOf } from "../row_security/isolation_faults.ts";
import { readingFaults } from "../row_security/reading_faults.ts";
import { type Check, error } from "./check.ts";

/** Whether PostgreSQL's policies hold all who read from a pipeline; nothing where rows do not depend on the caller. */
export function rowSecurityChecks(
  database: Database,
  options: DatabaseOptions,
  tables: readonly string[],
): Check[] {
  if (!isReadAsCallers(options)) return [];
  return [{
    name: "row-level security",
    async run(signal) {
      const faults = await isolationFaults(database, tables, rolesOf(options), signal);
      const unread = await readingFaults(database, tables, options, signal);
      return [
        ...faults.map(({ message, remedy }) => error(`The pipeline does not serve: ${message}`, remedy)),
        ...unread.map(({ message, remedy }) =>
          error(`Every question of its callers fails: ${message}`, remedy)
        ),
      ];
    },
  }];
}
