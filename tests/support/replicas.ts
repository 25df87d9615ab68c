import { writeUsers } from "./accounts.ts";
import { type ConfigFolder, createConfigFolder, databaseEntry } from "./configured_server.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { type RoundRobin, startRoundRobin } from "./network/round_robin.ts";
import { type SeverableProxy, startSeverableProxy } from "./network/severable_proxy.ts";
import { type ServerProcess, startServer } from "./server_process.ts";
import { createStateDatabase, type StateDatabase } from "./state.ts";

/** Servers with folders of their own that share their state in PostgreSQL, behind a balancer without stickiness. */
export interface Replicas extends AsyncDisposable {
  readonly balancer: RoundRobin;
  readonly servers: readonly ServerProcess[];
  readonly folders: readonly ConfigFolder[];
  readonly state: StateDatabase;
  /** The databases `app` and `staging`. */
  readonly databases: readonly TestDatabase[];
  /** Between the servers and their state. */
  readonly proxies: readonly SeverableProxy[];
  /** Adds a token to the files of all. */
  readonly token: string;
  /** Starts a replica anew. */
  restart(at: number): Promise<void>;
}

export async function startReplicas(
  { config = "", auth = "", users = ["alice", "bob"], count = 2, isStateAway = false }: {
    /** Settings of the file's top level besides. */
    config?: string;
    /** Settings of `http.auth` besides, in YAML's flow style; the balancer's address makes them. */
    auth?: string | ((issuer: string) => string | Promise<string>);
    users?: readonly string[];
    count?: number;
    /** Whether the state does not answer at the start. */
    isStateAway?: boolean;
  } = {},
): Promise<Replicas> {
  await using made = new AsyncDisposableStack();
  const state = made.use(await createStateDatabase());
  const app = made.use(await createTestDatabase());
  const staging = made.use(await createTestDatabase());
  const balancer = made.use(await startRoundRobin());
  const ofAuth = typeof auth === "string" ? auth : await auth(balancer.url);
  const url = new URL(state.url);
  const folders: ConfigFolder[] = [];
  const proxies: SeverableProxy[] = [];
  const servers: ServerProcess[] = [];
  let token = "";
  for (let at = 0; at < count; at++) {
    const proxy = made.use(await startSeverableProxy({ host: url.hostname, port: Number(url.port) }));
    if (isStateAway) await proxy.stop();
    proxies.push(proxy);
    const folder = made.use(
      await createConfigFolder(`
state: { database: ${state.database.name}, host: 127.0.0.1, port: ${proxy.port}, user: ${state.role}, password: "${url.password}", sslmode: disable, grace: 5s }
http: { auth: { ${ofAuth} } }
databases: [${databaseEntry("app", app.name)}, ${databaseEntry("staging", staging.name)}]
${config}
`),
    );
    folders.push(folder);
    await writeUsers(folder, users);
    if (at === 0) ({ token } = await folder.addToken());
    else await Deno.copyFile(folders[0]?.tokenFile ?? "", folder.tokenFile);
  }
  const start = (folder: ConfigFolder) =>
    startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  made.defer(async () => {
    for (const server of servers) await server[Symbol.asyncDispose]();
  });
  servers.push(...await Promise.all(folders.map(start)));
  balancer.to(servers.map((server) => server.url));
  const stack = made.move();
  return {
    balancer,
    servers,
    folders,
    state,
    databases: [app, staging],
    proxies,
    token,
    async restart(at) {
      const folder = folders[at];
      if (folder === undefined) throw new Error(`there is no replica ${at}`);
      servers[at] = await start(folder);
      balancer.to(servers.map((server) => server.url));
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
