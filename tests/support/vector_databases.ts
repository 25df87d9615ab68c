import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { silentLogger } from "../../src/core/logger.ts";
import { pg } from "../../src/postgres/connection.ts";
import { createEmbeddedServer, embeddedDatabaseName } from "../../src/postgres/embedded/embedded_server.ts";
import type { EmbeddedServer } from "../../src/postgres/embedded/embedded_server.ts";
import { createSnapshot } from "../../src/postgres/embedded/pglite_instance.ts";
import { encode, readInt32, readTexts, startupCodes } from "../../src/postgres/embedded/wire_protocol.ts";
import { quoteLiteral } from "../../src/postgres/sql_text.ts";
import { rowsOf } from "./database.ts";

/** Stands before a PostgreSQL server that has no pgvector, and has databases of its own with it. */
export interface VectorDatabases extends AsyncDisposable {
  /** The address of both: what it does not have itself it passes on to the server. */
  readonly url: string;
  /** `PUT /NAME` makes a database, `DELETE /NAME` takes it away with all that is connected to it. */
  readonly controlUrl: string;
}

/** One PGlite, with the database that it is now. */
interface Instance {
  readonly server: EmbeddedServer;
  /** What its catalog has where it is empty. */
  readonly original: string;
  readonly sockets: Set<Socket>;
}

/** Ends a test that holds a transaction open while it waits for another session: there is one session only. */
const statementTimeoutMs = 60_000;

/** Databases are PGlites, one each, that are made when they are needed and emptied for the next test. */
export async function startVectorDatabases(serverUrl: string): Promise<VectorDatabases> {
  const server = new URL(serverUrl);
  const databases = new Map<string, Instance>();
  const idle: Instance[] = [];
  const started: EmbeddedServer[] = [];
  let snapshot: Promise<Uint8Array> | undefined;

  async function start(): Promise<Instance> {
    const embedded = await createEmbeddedServer({
      dataDir: "memory",
      snapshot: await (snapshot ??= createSnapshot()),
      statementTimeoutMs,
      logger: silentLogger,
    });
    started.push(embedded);
    return {
      server: embedded,
      original: await runOn(embedded, `${emptying}; ${catalogState}`),
      sockets: new Set(),
    };
  }

  async function make(name: string): Promise<void> {
    const instance = idle.pop() ?? await start();
    await runOn(instance.server, `UPDATE pg_database SET datname = ${quoteLiteral(name)} WHERE oid = ${own}`);
    databases.set(name, instance);
  }

  async function remove(name: string): Promise<void> {
    const instance = databases.get(name);
    if (instance === undefined) return;
    databases.delete(name);
    for (const socket of instance.sockets) socket.destroy();
    const state = await runOn(instance.server, `${emptying}; ${catalogState}`).catch(String);
    if (state === instance.original) idle.push(instance);
    else await instance.server.close();
  }

  const control = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const name = new URL(request.url).pathname.slice(1);
    await (request.method === "PUT" ? make(name) : remove(name));
    return new Response();
  });

  const front = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    let received = new Uint8Array(0);
    const read = (chunk: Uint8Array) => {
      received = encode(received, chunk);
      if (received.length < 8 || received.length < readInt32(received, 0)) return;
      const code = readInt32(received, 4);
      if (code === startupCodes.ssl || code === startupCodes.gssEncryption) {
        received = new Uint8Array(0);
        return void socket.write("N");
      }
      socket.off("data", read);
      if (code === startupCodes.cancel) cancel(received);
      else join(socket, received);
    };
    socket.on("data", read);
  });

  function join(socket: Socket, startup: Uint8Array): void {
    const texts = readTexts(startup.subarray(8), 100);
    const at = texts.indexOf("database") + 1;
    const instance = databases.get(texts[at] ?? "");
    if (instance === undefined) return pass(socket, startup);
    texts[at] = embeddedDatabaseName;
    const body = encode(startup.subarray(4, 8), ...texts);
    const stream = instance.server.openStream();
    instance.sockets.add(socket);
    stream.once("error", () => socket.destroy());
    socket.once("close", () => {
      instance.sockets.delete(socket);
      stream.destroy();
    });
    stream.write(encode(body.length + 4, body));
    socket.pipe(stream).pipe(socket);
  }

  function pass(socket: Socket, bytes: Uint8Array): void {
    const onward = connect(Number(server.port), server.hostname);
    onward.on("error", () => socket.destroy());
    socket.once("close", () => onward.destroy());
    onward.write(bytes);
    socket.pipe(onward).pipe(socket);
  }

  /** Whose session it is, each finds out by its key. */
  function cancel(request: Uint8Array): void {
    for (const { server } of databases.values()) server.openStream().end(request);
  }

  const listening = await listen(front);
  const url = new URL(serverUrl);
  url.port = String(listening);
  return {
    url: url.href,
    controlUrl: `http://127.0.0.1:${control.addr.port}`,
    async [Symbol.asyncDispose]() {
      front.close();
      await control.shutdown();
      await Promise.all(started.map((embedded) => embedded.close()));
    },
  };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address: AddressInfo | string | null = server.address();
  return address === null || typeof address === "string" ? 0 : address.port;
}

/** Runs SQL as superuser; resolves with the first value of the last statement. */
async function runOn(server: EmbeddedServer, sql: string): Promise<string> {
  const client = new pg.Client({
    user: "postgres",
    database: embeddedDatabaseName,
    stream: server.openStream,
  });
  client.on("error", () => {});
  await client.connect();
  try {
    const result: unknown = await client.query({ text: sql, rowMode: "array" });
    return JSON.stringify(rowsOf(Array.isArray(result) ? result.at(-1) : result));
  } finally {
    await client.end();
  }
}

const own = "(SELECT oid FROM pg_database WHERE datname = current_database())";

/** Drops whatever tests make. What it forgets, `catalogState` tells. */
const emptying = `
DO $$
DECLARE drop_it text;
BEGIN
  FOR drop_it IN
    SELECT format('EVENT TRIGGER %I', evtname) FROM pg_event_trigger
    UNION ALL SELECT format('EXTENSION IF EXISTS %I CASCADE', extname) FROM pg_extension WHERE extname <> 'plpgsql'
    UNION ALL SELECT format('SCHEMA %I CASCADE', nspname) FROM pg_namespace
      WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
    UNION ALL SELECT format('OWNED BY %I CASCADE', rolname) FROM pg_roles WHERE oid >= 16384
    UNION ALL SELECT format('ROLE %I', rolname) FROM pg_roles WHERE oid >= 16384
  LOOP
    EXECUTE 'DROP ' || drop_it;
  END LOOP;
END $$;
CREATE SCHEMA public AUTHORIZATION pg_database_owner;
GRANT USAGE ON SCHEMA public TO PUBLIC;
COMMENT ON SCHEMA public IS 'standard public schema';
UPDATE pg_database SET datname = '${embeddedDatabaseName}', datacl = NULL WHERE oid = ${own}`;

const counted =
  "aggregate auth_members authid cast class collation constraint conversion db_role_setting default_acl " +
  "event_trigger extension foreign_data_wrapper index init_privs language largeobject_metadata namespace opclass " +
  "operator policy proc publication rewrite seclabel shseclabel trigger ts_config ts_dict type";
const rights = { datacl: "database", nspacl: "namespace", relacl: "class", proacl: "proc" };

/** How many rows the catalogs have, and the rights on what is PostgreSQL's own. */
const catalogState = `SELECT ${
  [
    ...counted.split(" ").map((name) => `(SELECT count(*) FROM pg_${name})`),
    ...Object.entries(rights).map(([column, name]) =>
      `(SELECT md5(array_agg(${column}::text ORDER BY ${column}::text)::text) FROM pg_${name})`
    ),
  ].join(", ")
}`;
