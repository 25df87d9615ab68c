import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { type Logger, silentLogger } from "../../src/core/logger.ts";
import { type Channel, createChannel } from "../../src/app/processes/channel.ts";
import { openParentEngine, serveEngine } from "../../src/state/parent_engine.ts";
import { openPostgresEngine, setUpSql } from "../../src/state/postgres_engine.ts";
import { openSqliteEngine } from "../../src/state/sqlite_engine.ts";
import { openState, type State } from "../../src/state/state.ts";
import { createTestDatabase, runSql, type TestDatabase, testWithPostgres } from "./database.ts";
import { databaseOptions } from "./database_options.ts";
import { temporaryFolder } from "./temporary_folder.ts";

/** A state that lasts as long as the test. */
export function memoryState(now: () => number = Date.now, logger: Logger = silentLogger): State {
  return openState({ engine: openSqliteEngine(undefined, now), graceMs: 60_000, logger });
}

/** A state in a file. */
export function fileState(path: string, now: () => number = Date.now, logger: Logger = silentLogger): State {
  return openState({ engine: openSqliteEngine(path, now), graceMs: 60_000, logger });
}

interface OpenOptions {
  now?: () => number;
  logger?: Logger;
  /** Whether it is told at once of what others change; else it looks every second. The default is true. */
  isTold?: boolean;
}

/** A database with the tables of the state, and a role of its own. */
export interface StateDatabase extends AsyncDisposable {
  readonly database: TestDatabase;
  readonly role: string;
  /** As the role. */
  readonly url: string;
  /** As another server would. */
  open(options?: OpenOptions & { graceMs?: number; port?: number }): Promise<State>;
}

export async function createStateDatabase(): Promise<StateDatabase> {
  await using made = new AsyncDisposableStack();
  const database = made.use(await createTestDatabase());
  const role = `postern_state_${randomBytes(4).toString("hex")}`;
  made.defer(async () => {
    await database[Symbol.asyncDispose]();
    await runSql(requireUrl(), `DROP ROLE IF EXISTS ${role}`);
  });
  await database.query(setUpSql(role));
  const password = randomBytes(8).toString("hex");
  await database.query(`ALTER ROLE ${role} PASSWORD '${password}'`);
  const url = new URL(database.url);
  url.username = role;
  url.password = password;
  const stack = made.move();
  return {
    database,
    role,
    url: url.href,
    async open({ logger = silentLogger, graceMs = 60_000, port, now, isTold = true } = {}) {
      const { hosts: [host], ...options } = databaseOptions(url.href);
      const hosts = [{ host: host?.host ?? "", port: port ?? host?.port ?? 0 }];
      const engine = await openPostgresEngine({ database: { ...options, hosts }, logger });
      const onChanged = isTold ? engine.onChanged : () => {};
      return openState({ engine: { ...engine, now: now ?? engine.now, onChanged }, graceMs, logger });
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const requireUrl = () => Deno.env.get("TEST_DATABASE_URL") ?? "";

/** Opens the state as one more process would; it closes with the test. */
export type OpenState = (options?: OpenOptions) => Promise<State>;

/** Registers a test for each engine that several servers, or processes of one, use at once and that tells them so. */
export function testServers(name: string, fn: (open: OpenState) => Promise<void>): void {
  Deno.test(`state of a parent process: ${name}`, async () => {
    await using opened = new AsyncDisposableStack();
    const channels: Channel[] = [];
    let served: ReturnType<typeof serveEngine> | undefined;
    await fn(({ now = Date.now, logger = silentLogger } = {}) => {
      served ??= serveEngine(opened.use(openSqliteEngine(undefined, now)), () => channels);
      const [down, up] = [new TransformStream<Uint8Array>(), new TransformStream<Uint8Array>()];
      const parent = createChannel({ readable: up.readable, writable: down.writable, logger });
      const child = createChannel({ readable: down.readable, writable: up.writable, logger });
      channels.push(parent);
      served.serve(parent);
      return Promise.resolve(
        opened.use(openState({ engine: openParentEngine(child, now), graceMs: 60_000, logger })),
      );
    });
  });
  testWithPostgres(`state in PostgreSQL: ${name}`, async () => {
    await using made = await createStateDatabase();
    await using opened = new AsyncDisposableStack();
    await fn(async (options) => opened.use(await made.open(options)));
  });
}

/** Registers a test for each engine that several processes may use at once. */
export function testSharedStates(name: string, fn: (open: OpenState) => Promise<void>): void {
  Deno.test(`state in a file: ${name}`, async () => {
    await using folder = await temporaryFolder();
    await using opened = new AsyncDisposableStack();
    const path = join(folder.path, "data", "state.sqlite");
    await fn(({ now, logger } = {}) => Promise.resolve(opened.use(fileState(path, now, logger))));
  });
  testServers(name, fn);
}

/** Registers a test for each engine. In memory there is one state, which has the options of the first time. */
export function testStates(name: string, fn: (open: OpenState) => Promise<void>): void {
  Deno.test(`state in memory: ${name}`, async () => {
    await using opened = new AsyncDisposableStack();
    let state: State | undefined;
    await fn(({ now, logger } = {}) => Promise.resolve(state ??= opened.use(memoryState(now, logger))));
  });
  testSharedStates(name, fn);
}

/** Has all that goes by the process's own clock happen as though so much time had passed. */
export function skipTime(ms: number): Disposable {
  const before = performance.now;
  performance.now = () => before.call(performance) + ms;
  return { [Symbol.dispose]: () => void (performance.now = before) };
}
