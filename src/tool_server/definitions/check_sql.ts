import type { CheckScheduler } from "../../postgres/guard/check_scheduler.ts";

/** What definitions are checked with: no database is asked. */
export interface DefinitionChecks {
  readonly guard: Pick<CheckScheduler, "check">;
  readonly signal: AbortSignal;
  /** Names of the databases that are configured; undefined where nobody knows them. */
  readonly databases: readonly string[] | undefined;
}

/**
 * Why a definition's statement cannot run with a value for each name, `$1` for the first; undefined where nothing is wrong
 * as far as its text tells.
 */
export async function whyNotRunnable(
  sql: string,
  names: readonly string[],
  { guard, signal }: DefinitionChecks,
): Promise<string | undefined> {
  const checked = await guard.check(sql, { principal: { kind: "local" }, signal, parameters: names });
  if (!checked.ok) {
    const { position } = checked;
    return position === undefined ? checked.reason : `${checked.reason} (${lineAndCharacter(sql, position)})`;
  }
  // PostgreSQL refuses a value that it has no place for
  const unused = names.findIndex((_, index) => !new RegExp(`\\$${index + 1}(?!\\d)`).test(sql));
  return unused < 0
    ? undefined
    : `has no $${unused + 1}, which stands for ${names[unused]}: the arguments are bound in their order`;
}

function lineAndCharacter(sql: string, position: number): string {
  const before = [...sql].slice(0, position - 1).join("").split("\n");
  return `line ${before.length} of the statement, character ${[...before.at(-1) ?? ""].length + 1}`;
}

/** What is wrong with a definition's `database`, if anything is. */
export function whyNoDatabase(
  name: string | undefined,
  { databases }: DefinitionChecks,
): string | undefined {
  if (name === undefined || databases === undefined || databases.includes(name)) return undefined;
  return "there is no database of that name in the configuration";
}

/** The database that a definition is for: without a name the only one; undefined where there are several. */
export function databaseOf(
  name: string | undefined,
  { databases = [] }: DefinitionChecks,
): string | undefined {
  return name ?? (databases.length === 1 ? databases[0] : undefined);
}

/** Whether two definitions may be for the same database: one without a name is for each. */
export function sharesDatabase(one: string | undefined, other: string | undefined): boolean {
  return one === undefined || other === undefined || one === other;
}
