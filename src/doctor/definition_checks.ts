import { serverItself } from "../core/principal.ts";
import { readCatalog } from "../postgres/catalog/catalog.ts";
import type { Database } from "../postgres/database.ts";
import type { DatabaseOptions } from "../postgres/database_options.ts";
import type { StatementError } from "../postgres/read/statement_error.ts";
import { type Check, error, note, warning } from "../rag_server/checks/check.ts";
import { type DefinitionStatement, statementsOn } from "../tool_server/definitions/definition_statements.ts";
import type { ReadDefinitions } from "../tool_server/definitions/read_definitions.ts";
import { missingOfModels } from "../tool_server/questions/models/semantic_models.ts";

/** What a definitions file defines, without what the file itself shows to be wrong. */
export type DoctorDefinitions = Pick<ReadDefinitions, "tools" | "resources" | "questions" | "models">;

/** Whether a database has what the definitions for it name. */
export function definitionsChecks(
  database: Database,
  options: DatabaseOptions,
  isOnly: boolean,
  definitions: DoctorDefinitions,
): Check[] {
  const statements = statementsOn(database.name, isOnly, definitions);
  const models = definitions.models.filter((model) => model.database === database.name);
  return [
    ...(statements.length === 0 ? [] : [statementsCheck(database, options, statements)]),
    ...(models.length === 0 ? [] : [modelsCheck(database, models)]),
  ];
}

/** Plans each statement, without running it and with NULL for each value. */
function statementsCheck(
  database: Database,
  { roleFromUser, roleFromClaim, sessionSettings }: DatabaseOptions,
  statements: readonly DefinitionStatement[],
): Check {
  // where callers have rights of their own, what the server itself may not read they may
  const differs = roleFromUser || roleFromClaim !== undefined || Object.keys(sessionSettings).length > 0;
  const faultOf = differs ? warning : error;
  return {
    name: "definitions",
    async run(signal) {
      const faults: string[] = [];
      for (const { of, sql, parameters } of statements) {
        const result = await database.read({
          principal: serverItself,
          sql: `EXPLAIN ${sql}`,
          parameters: Array.from({ length: parameters }, () => null),
          signal,
        });
        if (!result.ok && isOfStatement(result.error, sql)) faults.push(`${of}: ${result.error.message}`);
      }
      if (faults.length === 0) {
        return [note(statements.length === 1 ? "1 statement" : `${statements.length} statements`)];
      }
      return faults.map((fault) =>
        faultOf(
          `Cannot run the statement of ${fault}`,
          "-- Correct the statement in the file of custom_definitions_path, or grant the role what it reads",
        )
      );
    },
  };
}

/** Whether an error shows that the statement never runs, with whatever values. */
function isOfStatement({ kind, sqlState = "" }: StatementError, sql: string): boolean {
  if (kind === "refused") return true;
  // nobody can have a plan of these explained
  const isPlanless = sqlState === "42601" && /\b(?:show|explain)\b/i.test(sql);
  // https://www.postgresql.org/docs/current/errcodes-appendix.html: names, types and rights
  return kind === "failed" && /^(?:42|3F)/.test(sqlState) && !isPlanless;
}

function modelsCheck(database: Database, models: DoctorDefinitions["models"]): Check {
  return {
    name: "models",
    async run(signal) {
      const { tables } = await readCatalog(database, { principal: serverItself, signal });
      const missing = missingOfModels(models, tables);
      if (missing.length === 0) return [note(models.length === 1 ? "1 model" : `${models.length} models`)];
      return [warning(
        `Models name what the role does not find, and go without it: ${missing.join("; ")}`,
        "-- Correct the names in the file of custom_definitions_path, or grant the role SELECT on the tables",
      )];
    },
  };
}
