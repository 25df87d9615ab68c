import type { OwnProcess } from "../../config/mod.ts";
import type { Logger } from "../../core/logger.ts";
import type { ServedBy, ServerMetrics } from "../../core/metrics/server_metrics.ts";
import { stopWithinMs } from "../../http/listener.ts";
import type { OtherProcesses, Readiness } from "../../http/reachability.ts";
import { watchProcess } from "../telemetry/serve_metrics.ts";
import { type Channel, createChannel } from "./channel.ts";

/** One of several processes that serve the same ports, and what it has of its parent. */
export interface Child {
  readonly channel: Channel;
  /** Resolves once the parent says so, or is gone. */
  readonly stopped: Promise<void>;
  /** Tells the parent that the servers answer. */
  serves(): void;
  /** Tells the parent what is counted here whenever it asks. Disposing of it ends the looks at the process. */
  tellMetrics(metrics: ServerMetrics): Disposable;
  others(server: ServedBy): OtherProcesses;
}

/** Speaks with the parent from now on. Where that is gone, the process ends as it does on SIGTERM. */
export function joinParent(
  { number }: OwnProcess,
  { onHangUp, logger }: { readonly onHangUp: () => void; readonly logger: Logger },
): Child {
  const channel = createChannel({ readable: Deno.stdin.readable, writable: Deno.stdout.writable, logger });
  const stopped = Promise.withResolvers<void>();
  channel.on("hang up", onHangUp);
  channel.on("stop", () => stopped.resolve());
  void channel.closed.then(() => {
    logger.warn("The parent process is gone");
    stopped.resolve();
    // what hangs, in a start too, must not stay: nobody else would end it
    Deno.unrefTimer(setTimeout(() => Deno.exit(143), stopWithinMs));
  });
  return {
    channel,
    stopped: stopped.promise,
    serves: () => channel.tell("serves"),
    tellMetrics(metrics) {
      channel.on("metrics", () => metrics.families.map((family) => [family.name, family.read()]));
      return watchProcess(metrics, String(number));
    },
    others: (server) => ({
      answerBy: (own) => channel.on(`readiness ${server}`, own),
      readiness: async () => await channel.ask("readiness of others", server) as Readiness,
    }),
  };
}
