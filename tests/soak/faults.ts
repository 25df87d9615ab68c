import { join } from "node:path";
import { removeToken } from "../../src/identity/tokens/token_file.ts";
import { disableUser } from "../../src/identity/users/user_file.ts";
import type { Effect } from "./ledger.ts";
import { type Load, pick } from "./load.ts";
import { processes, type Replica } from "./fleet.ts";
import { logIn } from "./tool_calls.ts";

/** Something that goes wrong, or that an administrator does, while callers call. It resolves once all is well again. */
export interface Fault {
  readonly name: string;
  /** @returns what is to be told besides */
  run(load: Load): Promise<string | void>;
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const one = (load: Load): Replica => pick(load, load.fleet.replicas);
/** A loaded machine starts a process in seconds. */
const readyWithinMs = 60_000;

/** Waits until a replica says that all of its processes are well. */
export async function untilReady(replica: Replica): Promise<void> {
  const deadline = Date.now() + readyWithinMs;
  let status: string | undefined;
  while ((status = await replica.status()) !== "ready") {
    if (Date.now() > deadline) {
      throw new Error(`${replica.name} is ${status} and not ready:\n${lastLines(replica)}`);
    }
    await sleep(100);
  }
}

const lastLines = ({ server }: Replica) => server.stderr().split("\n").slice(-20).join("\n");

/** Has a fault last until its replica is well again. */
async function during(
  { ledger }: Load,
  name: string,
  effects: readonly Effect[],
  isolated: number,
  work: () => Promise<void>,
): Promise<void> {
  const trouble = ledger.begin(name, effects, isolated);
  try {
    await work();
  } finally {
    trouble.end();
  }
}

export const killProcess: Fault = {
  name: "a process is killed",
  async run(load) {
    const replica = one(load);
    await during(load, this.name, ["breaks", "refuses", "ends calls"], 0, async () => {
      const [, ...children] = replica.pids();
      const pid = pick(load, children);
      Deno.kill(pid, "SIGKILL");
      const isBack = () => {
        const [, ...now] = replica.pids();
        return !now.includes(pid) && now.length === children.length;
      };
      const deadline = Date.now() + readyWithinMs;
      while (!isBack()) {
        if (Date.now() > deadline) throw new Error(`${replica.name} starts no process again`);
        await sleep(50);
      }
      await untilReady(replica);
    });
    return replica.name;
  },
};

export const killReplica: Fault = {
  name: "a replica's parent is killed",
  async run(load) {
    const replica = one(load);
    await during(load, this.name, ["breaks", "refuses", "ends calls"], 0, async () => {
      await replica.server.kill("SIGKILL");
      await replica.start();
      await load.fleet.balance();
      await untilReady(replica);
    });
    return replica.name;
  },
};

const stoppedMs = 10_000;

export const pauseReplica: Fault = {
  name: `a replica stands still for ${stoppedMs / 1_000} s`,
  async run(load) {
    const replica = one(load);
    await during(load, this.name, ["breaks", "refuses", "isolates"], replica.pids().length - 1, async () => {
      const pids = replica.pids();
      for (const pid of pids) Deno.kill(pid, "SIGSTOP");
      await sleep(stoppedMs);
      for (const pid of pids.toReversed()) Deno.kill(pid, "SIGCONT");
      await untilReady(replica);
    });
    return replica.name;
  },
};

/** @param ms for how long; beyond the grace what is known may not be relied on */
export function cutState(ms: number): Fault {
  const name = `a replica is cut off from the state for ${ms / 1_000} s`;
  return {
    name,
    async run(load) {
      const replica = one(load);
      await during(load, name, ["refuses", "isolates"], replica.pids().length - 1, async () => {
        await replica.proxy.stop();
        await sleep(ms);
        await replica.proxy.start();
        await untilReady(replica);
      });
      return replica.name;
    },
  };
}

/** As a new version is rolled out: no request is lost. */
export const rollReplica: Fault = {
  name: "a replica is replaced",
  async run(load) {
    const replica = one(load);
    await during(load, this.name, ["ends calls"], 0, async () => {
      await load.fleet.balance(load.fleet.replicas.filter((other) => other !== replica));
      const code = await replica.server.stop();
      if (code !== 0) throw new Error(`${replica.name} ended with ${code}:\n${lastLines(replica)}`);
      await replica.start();
      await untilReady(replica);
      await load.fleet.balance();
    });
    return replica.name;
  },
};

let round = 0;
export const reload: Fault = {
  name: "a configuration is loaded again by SIGHUP",
  async run({ fleet }) {
    round = (round + 1) % 100;
    for (const replica of fleet.replicas) {
      await replica.configure(round);
      Deno.kill(replica.server.pid, "SIGHUP");
      await untilReady(replica);
    }
  },
};

/** Under load a connection that is just opened may break (docs/operations.md). */
export const rotateCertificates: Fault = {
  name: "certificates are replaced",
  async run(load) {
    await during(load, this.name, ["breaks"], 0, async () => {
      for (const replica of load.fleet.replicas) {
        const { server } = replica;
        const reloaded = () => server.stderr().match(/Reloaded the certificate/g)?.length ?? 0;
        const before = reloaded();
        await replica.certify();
        Deno.kill(server.pid, "SIGHUP");
        const deadline = Date.now() + readyWithinMs;
        while (reloaded() < before + processes) {
          if (Date.now() > deadline) throw new Error(`${replica.name} took none:\n${lastLines(replica)}`);
          await sleep(100);
        }
        await untilReady(replica);
      }
    });
  },
};

export const endToken: Fault = {
  name: "a token is removed from the files",
  async run({ fleet, ended, ledger }) {
    const [first, ...others] = fleet.replicas;
    if (first === undefined) return;
    const { id, token } = await first.folder.addToken();
    for (const { folder } of others) await Deno.copyFile(first.folder.tokenFile, folder.tokenFile);
    await sleep(1_000 + ledger.lagMs());
    for (const { folder } of fleet.replicas) await removeToken({ path: folder.tokenFile, idOrPrefix: id });
    ended.push({ token, how: "removing it from the files", at: Date.now() });
  },
};

/** @param victims who are locked, one each time */
export function lockAccount(victims: readonly string[]): Fault {
  let next = 0;
  return {
    name: "an account is disabled",
    async run({ fleet, ended, ledger }) {
      const username = victims[next++];
      if (username === undefined) return "nobody is left";
      const token = await logIn(ledger, fleet.balancer.tools, username);
      await sleep(500);
      for (const { folder } of fleet.replicas) {
        await disableUser({ path: join(folder.path, "users.yaml"), username });
      }
      if (token !== undefined) ended.push({ token, how: `disabling ${username}`, at: Date.now() });
      return username;
    },
  };
}
