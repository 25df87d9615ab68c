import { demoHandbookSql } from "../../../src/demo/demo_handbook.ts";
import { demoShopSql, readShopQuestions } from "../../../src/demo/demo_shop.ts";
import { type ConfigFolder, createConfigFolder, databaseEntry } from "../../support/configured_server.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import { type ServerProcess, startServer } from "../../support/server_process.ts";

/** The demo's shop in PostgreSQL, with its questions in words, and a configuration that names both. */
export interface Shop extends AsyncDisposable {
  readonly database: TestDatabase;
  readonly folder: ConfigFolder;
  /** With `-http -no-auth` and an address on a free port, unless flags are given. */
  serve(flags?: readonly string[]): Promise<ServerProcess>;
}

/** Of one day, so that its figures are the same on every day. */
const day = new Date("2026-03-15T12:00:00Z");

/**
 * @param options.sql run after the shop is there
 * @param options.hasHandbook whether there are `handbook_pages`, which need pgvector
 * @param options.config a function of the database: more settings, in YAML
 */
export async function createShop({ sql = "", hasHandbook = false, config = () => "" }: {
  sql?: string;
  hasHandbook?: boolean;
  config?: (database: TestDatabase) => string;
} = {}): Promise<Shop> {
  await using opening = new AsyncDisposableStack();
  const database = opening.use(await createTestDatabase());
  // the demo's role would be there for the whole server
  const shopSql = (await demoShopSql(day)).filter((sql) => !sql.startsWith("CREATE ROLE"));
  const statements = [...(hasHandbook ? await demoHandbookSql() : []), ...shopSql, sql, "ANALYZE"];
  await database.query(statements.join(";\n"));
  const folder = opening.use(
    await createConfigFolder(
      `databases: [${databaseEntry("shop", database.name)}]\n` +
        `custom_definitions_path: questions.yaml\n${config(database)}`,
    ),
  );
  await Deno.writeTextFile(`${folder.path}/questions.yaml`, await readShopQuestions());
  const kept = opening.move();
  return {
    database,
    folder,
    serve: (flags = ["-http", "-no-auth", "-addr", "127.0.0.1:0"]) =>
      startServer(["-config", folder.configFile, ...flags]),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** The first value of what a statement gives. */
export async function countOf(database: TestDatabase, sql: string): Promise<number> {
  const [[value] = []] = await database.query(sql);
  return Number(value);
}
