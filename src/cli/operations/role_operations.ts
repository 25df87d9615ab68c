import { Buffer } from "node:buffer";
import { openToolDatabases } from "../../app/open_databases.ts";
import { type Config, writtenSetting } from "../../config/mod.ts";
import { AppError } from "../../core/app_error.ts";
import { createLogger } from "../../core/logger.ts";
import { createColumnPatterns, unmatchedColumnWarnings } from "../../postgres/catalog/private_columns.ts";
import { readRelations } from "../../postgres/reader_role/readable_relations.ts";
import { setupSql } from "../../postgres/reader_role/setup_sql.ts";
import { counted, jsonText, type Print, visible } from "../output.ts";
import { longestRoleBytes } from "../../postgres/session_setting_kinds.ts";
import { rightsOfRoles } from "../../postgres/reader_role/excess_rights.ts";

/**
 * Prints the SQL that makes a role which may only read the configured databases. It reads their catalogs, and runs nothing.
 * @throws {AppError} `invalid` for a role's name or without databases, and where a database cannot be read
 */
export async function setupRole(
  config: Config,
  { role, signal }: { readonly role: string; readonly signal: AbortSignal },
  print: Print,
): Promise<void> {
  const isReserved = role === "none" || role === "public" || role.startsWith("pg_");
  if (role === "" || isReserved || Buffer.byteLength(role) > longestRoleBytes || /\p{Cc}/u.test(role)) {
    throw new AppError(
      "invalid",
      `Cannot print a role's SQL: -setup-role expects a role's name, at most ${longestRoleBytes} bytes, not none, ` +
        "public or one that begins with pg_",
    );
  }
  await using databases = await openDatabases(config);
  const isExcluded = createColumnPatterns(config.llm.excluded_columns);
  const made = new Set<string>();
  const takesRoles = databases.list.some(({ options }) =>
    options.roleFromUser || options.roleFromClaim !== undefined
  );
  print("-- Postern prints this and runs none of it. Read it, then run it as a superuser, with psql.");
  print("-- Databases of one server share the role: connect to that server first.");
  print("-- It may be run again. What PUBLIC may do holds for this role too: -check-role tells of it.");
  for (const warning of await columnWarnings(config, databases, signal)) {
    print(`-- Warning: ${visible(warning)}`);
  }
  for (const { database, options } of databases.list) {
    const server = JSON.stringify(options.hosts);
    const relations = await readRelations(database, isExcluded, signal);
    print("");
    print(setupSql({ role, options, relations, isMade: made.has(server), takesRoles }));
    made.add(server);
  }
}

/**
 * Prints what the configured role of each database may do beyond reading.
 * @returns the program's exit code: 1 where one may do more, 0 otherwise
 * @throws {AppError} `invalid` without databases, and where a database cannot be read
 */
export async function checkRole(
  config: Config,
  { json, signal }: { readonly json: boolean; readonly signal: AbortSignal },
  print: Print,
): Promise<number> {
  await using databases = await openDatabases(config);
  const isExcluded = createColumnPatterns(config.llm.excluded_columns);
  const checked = [];
  for (const { database, options } of databases.list) {
    const { roles, faults } = await rightsOfRoles(database, options, isExcluded, signal);
    const refused = faults.map(({ path, message, remedy }) => ({
      setting: writtenSetting(config, "databases", database.name, path),
      message,
      remedy,
    }));
    checked.push(
      ...roles.map((each, at) => ({ database: database.name, ...each, refused: at === 0 ? refused : [] })),
    );
  }
  if (json) print(jsonText(checked));
  else {
    for (const warning of await columnWarnings(config, databases, signal)) print(visible(warning));
    for (const { database, role, excess, refused } of checked) {
      const beyond = excess.length === 0
        ? "may only read"
        : `${counted(excess.length, "right")} beyond reading`;
      print(`${visible(database)}: the role ${visible(role)}: ${beyond}`);
      for (const { right, remedy } of excess) {
        print(`  ${visible(right)}`);
        print(`    ${visible(remedy)}`);
      }
      for (const { setting, message, remedy } of refused) {
        print(`  ${visible(`${setting}: ${message}`)}`);
        for (const line of remedy.split("\n")) print(`    ${visible(line)}`);
      }
    }
  }
  return checked.some(({ excess, refused }) => excess.length > 0 || refused.length > 0) ? 1 : 0;
}

async function columnWarnings(
  { llm }: Config,
  { list }: Awaited<ReturnType<typeof openDatabases>>,
  signal: AbortSignal,
): Promise<string[]> {
  return await unmatchedColumnWarnings(llm.excluded_columns, list.map(({ database }) => database), signal);
}

async function openDatabases(config: Config) {
  if (config.databases.length === 0) {
    throw new AppError("invalid", "Cannot look at a role: the configuration has no databases");
  }
  return await openToolDatabases(config, createLogger(config.log));
}
