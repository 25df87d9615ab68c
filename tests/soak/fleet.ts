import { join } from "node:path";
import { genSalt, hash } from "bcryptjs";
import { localEmbedding } from "../../src/llm/local/local_embedding.ts";
import { password } from "../support/accounts.ts";
import { type ConfigFolder, createConfigFolder, databaseEntry } from "../support/configured_server.ts";
import {
  createRoles,
  createTestDatabase,
  requireTestDatabaseUrl,
  runSql,
  type TestDatabase,
} from "../support/database.ts";
import { createCertificateAuthority } from "../support/network/certificates.ts";
import { type SeverableProxy, startSeverableProxy } from "../support/network/severable_proxy.ts";
import { pipelineDatabase } from "../support/rag_server.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { temporaryFolder } from "../support/temporary_folder.ts";
import { type Addresses, type Balancer, startBalancer } from "./balancer.ts";
import { mountSmallDisk } from "./full_disk.ts";
import { childrenOf, type Holdings, holdingsOf } from "./processes.ts";

/** What a user of the state is told in the configuration. */
export interface StatePlace {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password: string;
}

/** A database that may fail over, as a part of the configuration's `databases`; it has the table `place`. */
export interface SpreadDatabase {
  readonly name: string;
  readonly entry: string;
}

export interface Replica {
  readonly name: string;
  readonly folder: ConfigFolder;
  /** Between it and the state. */
  readonly proxy: SeverableProxy;
  /** Where it serves now. */
  readonly addresses: Addresses;
  readonly server: ServerProcess;
  /** Its parent and its processes. */
  pids(): number[];
  /** As its balancer asks it. Undefined where it does not answer in time. */
  status(): Promise<string | undefined>;
  /** Starts it; it must have ended. */
  start(): Promise<void>;
  /** Writes its configuration anew, with a setting that differs from round to round. */
  configure(round: number): Promise<void>;
  /** Gives it another certificate, where it has one. */
  certify(): Promise<void>;
  holdings(): Promise<Holdings>;
}

export interface Fleet extends AsyncDisposable {
  readonly replicas: readonly Replica[];
  readonly balancer: Balancer;
  /** Names of databases that everybody may use, with the table `place` that says which it is. */
  readonly open: readonly string[];
  readonly documents: readonly string[];
  /** A database with standbys. */
  readonly spread: string | undefined;
  /** The folders that are disks of their own. */
  readonly disks: readonly string[];
  /** By what they are for. */
  readonly tokens: { readonly free: readonly string[]; readonly limited: string };
  readonly users: readonly string[];
  /** Who is to be locked, one after the other. */
  readonly victims: readonly string[];
  /** Has the balancer send requests to some, all by default. */
  balance(replicas?: readonly Replica[]): Promise<void>;
}

export const processes = 2;
/** `calls_per_minute` of one token. */
export const callsPerMinute = 40;
/** Only alice may use it. */
export const hers = "hers";
/** Its rows are their user's. */
export const people = "people";
/** The configuration's `state.grace`. */
export const graceMs = 5_000;

const place = (name: string, reader: string) => `
CREATE TABLE place (name text); INSERT INTO place VALUES ('${name}');
GRANT SELECT ON place TO ${reader};`;

/** Two of them, each of two processes, behind a balancer. */
export async function startFleet({ state, spread, isVectors, isTls = false, victims, diskMebibytes }: {
  readonly state: StatePlace;
  readonly spread?: SpreadDatabase | undefined;
  /** Whether the server has pgvector. */
  readonly isVectors: boolean;
  /** Whether the tool servers speak TLS, which nginx then speaks with them. */
  readonly isTls?: boolean;
  /** How many users are there to be locked. */
  readonly victims: number;
  /** The size of a disk for the audit trail of the first, where one may be mounted. Optional; none without it. */
  readonly diskMebibytes?: number;
}): Promise<Fleet> {
  await using made = new AsyncDisposableStack();
  const { path } = made.use(await temporaryFolder());
  const mark = crypto.randomUUID().slice(0, 8);
  const reader = `soak_reader_${mark}`;
  const secret = crypto.randomUUID();
  made.use(await createRoles([reader], `CREATE ROLE ${reader} LOGIN PASSWORD '${secret}'`));
  const users = ["alice", "bob", "carol"];
  const locked = Array.from({ length: victims }, (_, at) => `victim${at}`);
  const open = ["app", "staging"];
  const databases = new Map<string, TestDatabase>();
  for (const name of [...open, hers, people]) {
    const database = made.use(await createTestDatabase());
    databases.set(name, database);
    await database.query(place(name, reader));
  }
  await databases.get(people)?.query(`
CREATE TABLE notes (owner text, text text);
INSERT INTO notes SELECT u, 'of ' || u FROM unnest(ARRAY[${
    [...users, ...locked].map((name) => `'${name}'`)
  }]) AS u;
ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON notes TO ${reader} USING (owner = current_setting('app.caller', true));
GRANT SELECT ON notes TO ${reader};`);
  const documents = isVectors ? made.use(await createDocuments(reader)) : undefined;
  const balancer = made.use(await startBalancer(path, isTls));
  const authority = isTls ? await createCertificateAuthority(path, "authority") : undefined;
  const caCerts = authority && [await Deno.readTextFile(authority.certFile)];
  const client = made.use(Deno.createHttpClient({ poolMaxIdlePerHost: 0, ...caCerts && { caCerts } }));
  const disks: string[] = [];
  const entry = (name: string, more = "") =>
    databaseEntry(
      name,
      databases.get(name)?.name ?? "",
      `password: "${secret}", pool_max_conn_idle_time: 5s, ${more}`,
    ).replace(/user: \w+/, `user: ${reader}`);
  const config = (port: number, round: number) => `
state: { database: ${state.database}, host: ${state.host}, port: ${port}, user: ${state.user}, password: "${state.password}", sslmode: disable, grace: ${
    graceMs / 1_000
  }s }
http: { ${
    isTls ? "tls: { enabled: true, cert_file: tls.crt, key_file: tls.key }, " : ""
  }auth: { rate_limit_max_attempts: 100000, oauth: { issuer: "${balancer.tools}" } } }
server: { listen_address: 127.0.0.1, port: 0, resource_url: "${balancer.rag}/v1", auth: { enabled: true } }
data_dir: data
audit: { file: data/audit.jsonl }
custom_definitions_path: definitions.yaml
databases:
  - ${entry("app", `max_rows: ${1_000 + round}`)}
  - ${entry("staging")}
  - ${entry(hers, "available_to_users: [alice]")}
  - ${entry(people, 'session_settings: { app.caller: "{username}" }')}
${spread === undefined ? "" : `  - ${spread.entry}`}
limits: { principals: { LIMITED: { calls_per_minute: ${callsPerMinute} } } }
${
    documents === undefined ? "" : `pipelines:
  - name: pages
    database: ${JSON.stringify(pipelineDatabase(documents, { username: reader, password: secret }))}
    tables: [{ table: pages, text_column: content, vector_column: embedding, id_column: id, filter_columns: [] }]
    embedding_llm: { provider: local }
    rag_llm: { provider: local }
`
  }`;

  const salt = await genSalt(4);
  const cheap = await hash(password, salt);
  const userFile = `users:\n${
    [...users, ...locked].map((name) => `  ${name}:\n    password_hash: ${cheap}\n    enabled: true\n`).join(
      "",
    )
  }`;
  const replicas: ReturnType<typeof createReplica>[] = [];
  const tokens: { token: string; id: string }[] = [];
  for (let at = 0; at < 2; at++) {
    const proxy = made.use(await startSeverableProxy(state));
    const folder = made.use(await createConfigFolder(""));
    const data = join(folder.path, "data");
    await Deno.mkdir(data);
    if (at === 0 && diskMebibytes !== undefined) {
      const disk = await mountSmallDisk(data, diskMebibytes);
      if (disk !== undefined) disks.push(data);
      if (disk !== undefined) made.use(disk);
    }
    await Deno.writeTextFile(join(folder.path, "users.yaml"), userFile, { mode: 0o600 });
    await Deno.writeTextFile(join(folder.path, "definitions.yaml"), questions(open));
    if (at === 0) { for (let n = 0; n < 4; n++) tokens.push(await folder.addToken()); }
    else await Deno.copyFile(replicas[0]?.folder.tokenFile ?? "", folder.tokenFile);
    const limited = tokens[0]?.id ?? "";
    const write = (round: number) =>
      Deno.writeTextFile(folder.configFile, config(proxy.port, round).replace("LIMITED", limited));
    await write(0);
    const certify = async () => {
      if (authority === undefined) return;
      // each has its files' names from its own
      const issued = await authority.issue({
        commonName: crypto.randomUUID(),
        subjectAltNames: ["IP:127.0.0.1"],
      });
      await Deno.rename(issued.keyFile, join(folder.path, "tls.key"));
      await Deno.rename(issued.certFile, join(folder.path, "tls.crt"));
    };
    await certify();
    const replica = createReplica({
      name: `replica ${at + 1}`,
      folder,
      proxy,
      client,
      configure: write,
      certify,
    });
    replicas.push(replica);
    made.defer(async () => void await replica.end());
  }
  await Promise.all(replicas.map((replica) => replica.start()));
  const balance = (some: readonly Replica[] = replicas) =>
    balancer.to(some.map(({ addresses }) => addresses));
  await balance();
  const [limited, ...free] = tokens.map(({ token }) => token);
  const stack = made.move();
  return {
    replicas,
    balancer,
    open,
    documents: documents === undefined ? [] : pages,
    spread: spread?.name,
    disks,
    tokens: { free, limited: limited ?? "" },
    users,
    victims: locked,
    balance,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function createReplica(
  { name, folder, proxy, client, configure, certify }:
    & Pick<Replica, "name" | "folder" | "proxy" | "configure" | "certify">
    & { readonly client: Deno.HttpClient },
) {
  let server: ServerProcess | undefined;
  let addresses: Addresses | undefined;
  const started = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error(`${name} has not been started`);
    return value;
  };
  return {
    name,
    folder,
    proxy,
    configure,
    certify,
    get addresses() {
      return started(addresses);
    },
    get server() {
      return started(server);
    },
    pids: () => [started(server).pid, ...childrenOf(started(server).pid)],
    async status() {
      try {
        const response = await fetch(`${started(addresses).tools}/ready`, {
          client,
          headers: { connection: "close" },
          signal: AbortSignal.timeout(2_000),
        });
        const { status } = await response.json();
        return typeof status === "string" ? status : undefined;
      } catch {
        return undefined;
      }
    },
    async start() {
      const flags = ["-http", "-rag", "-addr", "127.0.0.1:0", "-processes", String(processes)];
      const starting = await startServer([...flags, "-config", folder.configFile]);
      server = starting;
      // a loaded machine starts two processes slowly
      for (let tries = 0; !starting.stderr().includes(`${processes} processes serve`); tries++) {
        if (tries === 600) throw new Error(`${name} does not serve:\n${starting.stderr()}`);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      const urls = [...starting.stderr().matchAll(/listening on (\S+) process=\d/g)].map(([, url = ""]) =>
        url
      );
      const tools = urls.find((url) => url !== starting.url);
      addresses = { rag: starting.url, tools: started(tools) };
    },
    holdings: () => holdingsOf(started(server).pid),
    async end() {
      await server?.[Symbol.asyncDispose]();
    },
  };
}

/** Asked in words, without a model. */
const questions = (databases: readonly string[]) =>
  `questions:
${
    databases.map((name) =>
      `  - question: what is this place called, in the database ${name}
    database: ${name}
    sql: SELECT name FROM place
`
    ).join("")
  }`;

const pages = [
  "Annual leave is 25 days for all employees.",
  "An expense above 500 euros needs a director.",
  "Parking is free behind building Quokka7.",
];

async function createDocuments(reader: string): Promise<TestDatabase> {
  const database = await createTestDatabase();
  await database.query(`CREATE EXTENSION vector;
CREATE TABLE pages (id int PRIMARY KEY, content text, embedding vector(256));
GRANT SELECT ON pages TO ${reader}`);
  const { vectors } = await localEmbedding().embed({
    purpose: "document",
    texts: pages,
    signal: new AbortController().signal,
  });
  for (const [at, content] of pages.entries()) {
    const vector = `[${[...vectors[at] ?? []].join(",")}]`;
    await database.query(`INSERT INTO pages VALUES (${at}, '${content}', '${vector}')`);
  }
  return database;
}

/** Whether the server of the tests has pgvector. */
export async function hasVectors(): Promise<boolean> {
  const sql = "SELECT FROM pg_available_extensions WHERE name = 'vector'";
  return (await runSql(requireTestDatabaseUrl(), sql)).length > 0;
}
