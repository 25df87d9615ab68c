import type { Catalog } from "../../postgres/catalog/catalog.ts";
import type { CatalogCache } from "../../postgres/catalog/catalog_cache.ts";
import { isGranted, resourceOf, type ScopesByTool } from "../../identity/access_rules.ts";
import type { CallContext } from "../call_context.ts";
import type { DatabaseDirectory } from "../tools/databases/database_directory.ts";

/**
 * All names that begin with a value, upper and lower case not told apart: of `database`s, of `schema`s in the `given` database
 * or the current one, of `table`s in the `given` schema or all. None for another variable, and where the caller may not
 * use the database.
 */
export type CompleteNames = ReturnType<typeof createCompleteNames>;

export function createCompleteNames({ directory, catalogs, scopesByTool = {} }: {
  readonly directory: DatabaseDirectory;
  /** So that a keystroke costs at most a check whether the catalog is current. */
  readonly catalogs: Pick<CatalogCache<{ readonly catalog: Catalog }>, "get">;
  /** Optional: no tool needs any. */
  readonly scopesByTool?: ScopesByTool;
}) {
  async function namesOf(
    variable: string,
    given: Readonly<Record<string, string>>,
    context: CallContext,
  ): Promise<readonly string[]> {
    const { principal } = context;
    const tellsSchemas = isGranted(principal, resourceOf("schema", scopesByTool));
    const isTold = tellsSchemas || isGranted(principal, resourceOf("databases", scopesByTool));
    const databases = isTold ? directory.list(principal).map(({ name }) => name) : [];
    if (variable === "database") return databases;
    if (!tellsSchemas || variable !== "schema" && variable !== "table") return [];
    const chosen = given["database"] || undefined;
    if (chosen === undefined ? databases.length === 0 : !databases.includes(chosen)) return [];
    const database = directory.resolve(principal, chosen);
    const { catalog: { tables } } = await catalogs.get(database, context);
    if (variable === "schema") return tables.map(({ schema }) => schema);
    const schema = given["schema"] || undefined;
    return tables.filter((table) => schema === undefined || table.schema === schema).map(({ name }) => name);
  }

  return async (
    variable: string,
    value: string,
    given: Readonly<Record<string, string>>,
    context: CallContext,
  ): Promise<readonly string[]> => {
    const start = value.toLowerCase();
    const names = [...new Set(await namesOf(variable, given, context))]
      .filter((name) => name.toLowerCase().startsWith(start));
    // those that were meant as they are written come first
    const isExact = (name: string) => name.startsWith(value);
    return [...names.filter(isExact), ...names.filter((name) => !isExact(name))];
  };
}
