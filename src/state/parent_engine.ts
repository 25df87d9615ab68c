import { AppError } from "../core/app_error.ts";
import { isMap } from "../core/yaml/value_tree.ts";
import { type RunOptions, type StateEngine, stateIsAway, type Statement, type StateRow } from "./engine.ts";

/** What a parent process and its children say to each other. */
interface Channel {
  ask(kind: string, value?: unknown): Promise<unknown>;
  tell(kind: string, value?: unknown): void;
  on(kind: string, handler: (value: unknown) => unknown): void;
}

const runKind = "state";
const changedKind = "state changed";

/** In a child: the state that the parent process keeps for all of its children. */
export function openParentEngine(channel: Channel, now: () => number): StateEngine {
  const listeners: ((isAnew: boolean) => void)[] = [];
  channel.on(changedKind, () => listeners.forEach((listener) => listener(false)));
  return {
    name: "the parent process",
    isShared: true,
    async run(statements, options) {
      try {
        return await channel.ask(runKind, { statements, options }) as StateRow[][];
      } catch (cause) {
        throw new AppError("unavailable", stateIsAway, { cause, data: { retryAfterSeconds: 1 } });
      }
    },
    onChanged: (listener) => void listeners.push(listener),
    now,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** In the parent: what it keeps, for children to come. */
export function serveEngine(engine: StateEngine, channels: () => Iterable<Channel>) {
  function tellOthers(teller?: Channel): void {
    for (const channel of channels()) if (channel !== teller) channel.tell(changedKind);
  }
  engine.onChanged(() => tellOthers());
  return {
    /** Has a child use it from now on. */
    serve: (channel: Channel): void =>
      channel.on(runKind, async (value) => {
        const { statements, options } = isMap(value) ? value : {};
        try {
          const rows = await engine.run(statements as Statement[], options as RunOptions | undefined);
          if (isMap(options) && options["isTold"] === true) tellOthers(channel);
          return rows;
        } catch (cause) {
          const reason = cause instanceof Error ? cause.message : cause;
          throw new AppError("unavailable", `Cannot use the state in ${engine.name}: ${reason}`, { cause });
        }
      }),
  };
}
