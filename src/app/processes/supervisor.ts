import { childVariable, type Config } from "../../config/mod.ts";
import { settlesWithin, sleep } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";
import { createServerMetrics } from "../../core/metrics/server_metrics.ts";
import { holdPort, stopWithinMs } from "../../http/listener.ts";
import { serveEngine } from "../../state/parent_engine.ts";
import { openLocalEngine } from "../open_state.ts";
import type { RunOptions } from "../shared_parts.ts";
import { gatherMetrics, type Readings } from "../telemetry/gather_metrics.ts";
import { type Channel, createChannel } from "./channel.ts";
import { onHangUp, tellServiceManager, untilStopped } from "./process_signals.ts";
import { fileURLToPath } from "node:url";
import { permissions, v8Flags } from "./runtime.ts";

/** How long a process is waited for that is asked for its metrics, or by another process. */
const answerWithinMs = 500;
/** Before a process is started again: twice as long each time, until one has lived for a while. */
const pauseMs = { first: 100, longest: 10_000 };
const longLifeMs = 60_000;

/**
 * Runs the servers in as many processes as are configured, which share their ports, and serves nothing itself. One that ends
 * is started again. Where one ends before all have served for the first time, all end, and the exit code is its own: what was
 * wrong it has written.
 *
 * @throws {AppError} `unavailable` where an address is taken
 */
export async function supervise(options: RunOptions & { readonly logger: Logger }): Promise<number> {
  const { config: { http, server, processes, ...config }, rag, args, serverInfo: { version }, logger } =
    options;
  const ports = choosePorts({ http, server, rag });
  const command = await childCommand(args);
  const children = new Map<number, { readonly channel: Channel; readonly kill: () => void }>();
  const metrics = createServerMetrics();
  const gathered = gatherMetrics(metrics.families, async (take) => {
    await Promise.all(Array.from(children, async ([number, child]) => {
      const readings = await within(child.channel.ask("metrics"));
      if (readings !== undefined && children.get(number) === child) take(child, readings as Readings);
    }));
  });
  // with a database each process goes there
  await using engine = config.state.database === undefined ? openLocalEngine(config) : undefined;
  const state = engine && serveEngine(engine, () => Array.from(children.values(), ({ channel }) => channel));
  const { address } = config.metrics;
  await using _metrics = address && await (await import("../telemetry/serve_metrics.ts"))
    .serveMetrics({ address, metrics, version, gathered, logger });

  const stop = new AbortController();
  const failed = Promise.withResolvers<number>();
  const kept: Promise<void>[] = [];
  const served = new Set<number>();
  let haveServed = false;
  const tellAll = (kind: string) => children.forEach(({ channel }) => channel.tell(kind));
  // from the first moment on: without a listener, a signal ends this process alone
  const stopped = untilStopped();
  using _hangUp = onHangUp(() => tellAll("hang up"));

  /** Starts a process, and resolves once it has ended. */
  async function runOne(number: number) {
    const process = new Deno.Command(command.path, {
      args: command.args,
      env: { [childVariable]: JSON.stringify({ number, of: processes, ports }) },
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const channel = createChannel({ readable: process.stdout, writable: process.stdin, logger });
    const kill = () => {
      try {
        process.kill("SIGKILL");
      } catch {
        // it has ended
      }
    };
    const child = { channel, kill };
    children.set(number, child);
    state?.serve(channel);
    channel.on("serves", () => noteServing(number));
    channel.on("of others", (asked) => askBeside(number, asked as Parameters<typeof askBeside>[1]));
    // one that does not end by itself then can be told nothing any more
    void channel.closed.then(() => sleep(1_000)).then(kill);
    const { code, signal } = await process.status;
    children.delete(number);
    gathered.left(child);
    return { exit_code: code, signal: signal ?? undefined };
  }

  /** Has one process of a number run until all stop. */
  async function keep(number: number): Promise<void> {
    for (let pause = pauseMs.first; !stop.signal.aborted; pause = Math.min(pause * 2, pauseMs.longest)) {
      const startedAt = performance.now();
      const ended = await runOne(number).catch((error) => ({ exit_code: 1, error }));
      if (!haveServed) failed.resolve(ended.exit_code);
      if (stop.signal.aborted || !haveServed) return;
      if (performance.now() - startedAt >= longLifeMs) pause = pauseMs.first;
      logger.error("A process has ended and is started again", {
        process: number,
        ...ended,
        pause_ms: pause,
      });
      await sleep(pause, stop.signal).catch(() => {});
    }
  }

  function noteServing(number: number): void {
    // the first by itself: what is wrong with a start is told once, and what a start makes is made once
    for (let next = 2; kept.length < processes && !stop.signal.aborted; next++) kept.push(keep(next));
    if (haveServed || served.add(number).size < processes) return;
    haveServed = true;
    logger.info(`${processes} processes serve`);
    void tellServiceManager(config.notify_socket, logger);
  }

  /** What each of the others answers; nothing of one that does not in time, or is to start again. */
  async function askBeside(
    number: number,
    { kind, value }: { readonly kind: string; readonly value?: unknown },
  ): Promise<unknown[]> {
    const numbers = Array.from({ length: processes }, (_, at) => at + 1).filter((other) => other !== number);
    return await Promise.all(
      numbers.map((other) => within(children.get(other)?.channel.ask(kind, value))),
    );
  }

  kept.push(keep(1));
  const exitCode = await Promise.race([stopped.then(() => 0), failed.promise]);
  stop.abort();
  logger.info("stopping");
  tellAll("stop");
  if (!await settlesWithin(stopWithinMs + 1_000, Promise.all(kept))) {
    for (const [process, { kill }] of children) {
      logger.warn("A process did not stop in time and is killed", { process });
      kill();
    }
    await Promise.all(kept);
  }
  return exitCode;
}

/**
 * Both are held while they are chosen: the system may give one that is free again to both servers.
 * @throws AppError as startListener
 */
export function choosePorts({ http, server, rag }: {
  readonly http: Pick<Config["http"], "enabled" | "address">;
  readonly server: Pick<Config["server"], "address">;
  readonly rag: boolean;
}) {
  using httpPort = http.enabled ? holdPort(http.address) : undefined;
  using serverPort = rag ? holdPort(server.address) : undefined;
  return { http: httpPort?.port ?? http.address.port, server: serverPort?.port ?? server.address.port };
}

/** What a process answers; undefined where it does not do so in time. */
async function within(answer: Promise<unknown> | undefined): Promise<unknown> {
  return await Promise.race([answer?.catch(() => undefined), sleep(answerWithinMs)]);
}

/**
 * What starts this program once more, with the same arguments: the executable, the sources, or npm's package, which has
 * what it was started with beside its first module.
 */
export async function childCommand(args: readonly string[]) {
  const path = Deno.execPath();
  if (Deno.build.standalone) return { path, args: [...args] };
  const beside = (name: string) => fileURLToPath(new URL(name, Deno.mainModule));
  const main = fileURLToPath(Deno.mainModule);
  // npm's package alone has it in JavaScript
  const options: readonly string[] = main.endsWith(".js")
    ? [...JSON.parse(await Deno.readTextFile(beside("options.json"))), "--config", beside("deno.json")]
    : ["--quiet", `--v8-flags=${v8Flags}`, ...permissions];
  return { path, args: ["run", ...options, main, ...args] };
}
