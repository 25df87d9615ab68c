import type { OwnProcess } from "../../config/mod.ts";
import { sleep } from "../../core/async/deadline.ts";
import { createSingleFlight } from "../../core/async/single_flight.ts";
import type { Logger } from "../../core/logger.ts";
import type { ServedBy, ServerMetrics } from "../../core/metrics/server_metrics.ts";
import { stopWithinMs } from "../../http/listener.ts";
import { answerWithinMs, type Readiness, type ReadinessOfAll, worstOf } from "../../http/reachability.ts";
import { watchProcess } from "../telemetry/serve_metrics.ts";
import { createChannel } from "./channel.ts";

/** One of several processes that serve the same ports, and what it has of its parent. */
export type Child = ReturnType<typeof joinParent>;

/** Speaks with the parent from now on. Where that is gone, the process ends as it does on SIGTERM. */
export function joinParent(
  { number }: OwnProcess,
  { onHangUp, logger }: { readonly onHangUp: () => void; readonly logger: Logger },
) {
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

  /**
   * From now on `answer` tells the other processes what they ask of that kind. What this returns asks all of them; what does
   * not answer in time has told nothing, or null.
   */
  function amongOthers<Value, Answer>(kind: string, answer: (value: Value) => Answer) {
    channel.on(kind, (value) => answer(value as Value));
    return async (value?: Value) =>
      await channel.ask("of others", { kind, value }) as (Awaited<Answer> | null | undefined)[];
  }

  return {
    channel,
    /** Resolves once the parent says so, or is gone. */
    stopped: stopped.promise,
    /** Tells the parent that the servers answer. */
    serves: () => channel.tell("serves"),
    /** Tells the parent what is counted here whenever it asks. Disposing of it ends the looks at the process. */
    tellMetrics(metrics: ServerMetrics): Disposable {
      channel.on("metrics", () => metrics.families.map((family) => [family.name, family.read()]));
      return watchProcess(metrics, String(number));
    },
    amongOthers,
    /** One that does not say in time how it is is not as it should be. */
    readinessOfAll: (server: ServedBy): ReadinessOfAll => (own) => {
      const askOthers = amongOthers(`readiness ${server}`, own);
      const asking = createSingleFlight<Readiness>();
      async function ofOthers(): Promise<Readiness> {
        const asked = askOthers().catch(() => [undefined]);
        const answers = await Promise.race([asked, sleep(answerWithinMs)]) ?? [undefined];
        return worstOf(answers.map((answer) => answer ?? "degraded"));
      }
      return async () => worstOf(await Promise.all([own(), asking.share(ofOthers)]));
    },
  };
}
