import { childVariable, type Config, type OwnProcess } from "../../config/mod.ts";
import { settlesWithin, sleep } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";
import { createServerMetrics } from "../../core/metrics/server_metrics.ts";
import { freeAddress, stopWithinMs } from "../../http/listener.ts";
import { type Readiness, worstOf } from "../../http/reachability.ts";
import type { RunOptions } from "../shared_parts.ts";
import { gatherMetrics, type Readings } from "../telemetry/gather_metrics.ts";
import { type Channel, createChannel } from "./channel.ts";
import { childCommand } from "./child_command.ts";
import { onHangUp, tellServiceManager, untilStopped } from "./process_signals.ts";

/** How long a process is waited for that is asked for its metrics or its readiness. */
const answerWithinMs = 500;

/** Before a process is started again: twice as long each time, until one has lived for a minute. */
const pauseMs = { first: 100, longest: 10_000, longLifeMs: 60_000 };

interface RunningChild {
  readonly channel: Channel;
  readonly process: Deno.ChildProcess;
  /** Resolves once its servers answer. */
  readonly serves: Promise<void>;
}

/**
 * Runs the servers in as many processes as are configured, which share their ports, and serves nothing itself. One that ends
 * is started again. Where one ends before all have served for the first time, all end, and the exit code is its own: what was
 * wrong it has written.
 *
 * @throws {AppError} `unavailable` where an address is taken
 */
export async function supervise(options: RunOptions & { readonly logger: Logger }): Promise<number> {
  const { config, rag, args, serverInfo: { version }, logger } = options;
  const ports = choosePorts(config, rag);
  const command = await childCommand(args);
  const children = new Map<number, RunningChild>();
  const metrics = createServerMetrics();
  const gathered = gatherMetrics(metrics.families, async () => {
    const asked = [...children.values()].map(async (child) =>
      [child, await within(child.channel.ask("metrics")) as Readings | undefined] as const
    );
    return new Map(await Promise.all(asked));
  });
  const { address } = config.metrics;
  await using _metrics = address && await (await import("../telemetry/serve_metrics.ts"))
    .serveMetrics({ address, metrics, version, gathered, logger });

  const stop = new AbortController();
  const failed = Promise.withResolvers<number>();
  let haveServed = false;
  // from the first moment on: without a listener, a signal ends this process alone
  const stopped = untilStopped();
  using _hangUp = onHangUp(() => {
    for (const { channel } of children.values()) channel.tell("hang up");
  });

  function start(number: number): RunningChild {
    const own: OwnProcess = { number, of: config.processes, ports };
    const process = new Deno.Command(command.path, {
      args: [...command.args],
      env: { [childVariable]: JSON.stringify(own) },
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const channel = createChannel({ readable: process.stdout, writable: process.stdin, logger });
    const serves = Promise.withResolvers<void>();
    const child = { channel, process, serves: serves.promise };
    channel.on("serves", () => serves.resolve());
    channel.on("readiness of others", (server) => readinessBeside(child, String(server)));
    // one that does not end now would not be heard any more
    void channel.closed.then(() => settlesWithin(1_000, process.status)).then(() => kill(child));
    children.set(number, child);
    return child;
  }

  async function readinessBeside(child: RunningChild, server: string): Promise<Readiness> {
    const others = [...children.values()].filter((other) => other !== child);
    const answers = await Promise.all(
      others.map(({ channel }) =>
        within(channel.ask(`readiness ${server}`)) as Promise<Readiness | undefined>
      ),
    );
    const missing = config.processes - 1 - others.length;
    return worstOf([
      ...answers.map((status) => status ?? "degraded"),
      ...(missing > 0 ? ["degraded" as const] : []),
    ]);
  }

  /** Has one process of a number run until all stop. */
  async function keep(number: number, first: RunningChild): Promise<void> {
    let pause = pauseMs.first;
    for (let child = first;; child = start(number)) {
      const startedAt = performance.now();
      const { code, signal } = await child.process.status;
      children.delete(number);
      gathered.left(child);
      if (stop.signal.aborted) return;
      if (!haveServed) return failed.resolve(code);
      if (performance.now() - startedAt >= pauseMs.longLifeMs) pause = pauseMs.first;
      const why = signal === null ? { exit_code: code } : { signal };
      logger.error("A process has ended and is started again", { process: number, ...why, pause_ms: pause });
      await sleep(pause, stop.signal).catch(() => {});
      if (stop.signal.aborted) return;
      pause = Math.min(pause * 2, pauseMs.longest);
    }
  }

  const kept: Promise<void>[] = [];
  async function startAll(): Promise<void> {
    // the first by itself: what is wrong with a start is told once, and what a start makes is made once
    for (const numbers of [[1], Array.from({ length: config.processes - 1 }, (_, at) => at + 2)]) {
      const started = numbers.map((number) => {
        const child = start(number);
        kept.push(keep(number, child));
        return child.serves;
      });
      await Promise.all(started);
      if (stop.signal.aborted) return;
    }
    haveServed = true;
    logger.info(`${config.processes} processes serve`);
    await tellServiceManager(config.notify_socket, logger);
  }
  void startAll();

  const exitCode = await Promise.race([stopped.then(() => 0), failed.promise]);
  stop.abort();
  logger.info("stopping");
  for (const { channel } of children.values()) channel.tell("stop");
  if (!await settlesWithin(stopWithinMs + 1_000, Promise.all(kept))) {
    for (const [number, child] of children) {
      logger.warn("A process did not stop in time and is killed", { process: number });
      kill(child);
    }
    await Promise.all(kept);
  }
  return exitCode;
}

function choosePorts({ http, server }: Config, rag: boolean): OwnProcess["ports"] {
  return {
    http: (http.enabled ? freeAddress(http.address) : http.address).port,
    server: (rag ? freeAddress(server.address) : server.address).port,
  };
}

function kill({ process }: RunningChild): void {
  try {
    process.kill("SIGKILL");
  } catch {
    // it has ended
  }
}

/** What a process answers; undefined where it does not do so in time. */
async function within(answer: Promise<unknown>): Promise<unknown> {
  return await Promise.race([answer.catch(() => undefined), sleep(answerWithinMs)]);
}
