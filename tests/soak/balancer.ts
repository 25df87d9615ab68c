import { join } from "node:path";
import { type Nginx, startNginx } from "../support/network/nginx.ts";
import { startRoundRobin } from "../support/network/round_robin.ts";
import { findProgram } from "../support/programs.ts";
import { freePort } from "../support/token_issuer.ts";

/** Where a replica serves. */
export interface Addresses {
  readonly tools: string;
  readonly rag: string;
}

/** Stands before the replicas, without stickiness. */
export interface Balancer extends AsyncDisposable {
  readonly name: string;
  readonly tools: string;
  readonly rag: string;
  /** Sends requests to these from now on; those under way end where they are. */
  to(replicas: readonly Addresses[]): Promise<void>;
}

/**
 * nginx, where the machine has it.
 * @param isTls whether the tool servers speak TLS, which only nginx can
 */
export async function startBalancer(folder: string, isTls = false): Promise<Balancer> {
  return findProgram("nginx") === undefined ? await startOwn() : await startWithNginx(folder, isTls);
}

/** What it takes in a signal, in milliseconds: it tells nobody when it has. */
const reloadMs = 1_000;

async function startWithNginx(folder: string, isTls: boolean): Promise<Balancer> {
  const path = join(folder, "nginx");
  await Deno.mkdir(path);
  const ports = { tools: freePort(), rag: freePort() };
  let nginx: Nginx | undefined;
  const host = (url: string) => new URL(url).host;
  return {
    name: "nginx",
    tools: `http://127.0.0.1:${ports.tools}`,
    rag: `http://127.0.0.1:${ports.rag}`,
    async to(replicas) {
      const servers = (["tools", "rag"] as const).map((kind) => `
upstream ${kind} {
${replicas.map((each) => `  server ${host(each[kind])} max_fails=0;`).join("\n")}
}
server {
  listen 127.0.0.1:${ports[kind]};
  # a client must not send on a connection that the change of servers closes
  keepalive_timeout 0;
  location / {
    proxy_pass ${isTls && kind === "tools" ? "https" : "http"}://${kind};
    proxy_http_version 1.1;
    proxy_set_header Host $http_host;
    proxy_buffering off;
    proxy_connect_timeout 5s;
    proxy_read_timeout 60s;
  }
}`).join("\n");
      if (nginx === undefined) nginx = await startNginx(path, servers);
      else {
        await nginx.reload(servers);
        await new Promise((resolve) => setTimeout(resolve, reloadMs));
      }
    },
    async [Symbol.asyncDispose]() {
      await nginx?.[Symbol.asyncDispose]();
    },
  };
}

async function startOwn(): Promise<Balancer> {
  await using made = new AsyncDisposableStack();
  const tools = made.use(await startRoundRobin());
  const rag = made.use(await startRoundRobin());
  const stack = made.move();
  return {
    name: "a balancer of the test's own (needs nginx for more)",
    tools: tools.url,
    rag: rag.url,
    to(replicas) {
      tools.to(replicas.map((each) => each.tools));
      rag.to(replicas.map((each) => each.rag));
      return Promise.resolve();
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
