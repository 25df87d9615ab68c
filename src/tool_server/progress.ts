import type { CallClient } from "./call_context.ts";

type Notify = CallClient["notifyProgress"];

/** How often a step that goes on is told of. */
const tellEveryMs = 3_000;

/** What a request in words goes through, with how many steps are left as each begins. */
const steps = {
  catalog: { message: "Reading the catalog", left: 4 },
  model: { message: "Asking the model", left: 3 },
  plan: { message: "Planning the statement", left: 2 },
  run: { message: "Running the statement", left: 1 },
} as const;

export type Step = keyof typeof steps;

/**
 * Tells a client which step of a request in words begins, and of one that goes on how long. `progress` counts the steps that
 * are done, of `total`, which grows where a statement goes back to the model. Without a listener there is no timer.
 */
export function tellSteps(
  notify: Notify,
  everyMs = tellEveryMs,
): Disposable & { readonly begin: (step: Step) => void } {
  if (notify === undefined) return { begin: () => {}, [Symbol.dispose]: () => {} };
  let begun = 0;
  let ticks: Disposable | undefined;
  return {
    begin(step) {
      ticks?.[Symbol.dispose]();
      const done = begun++;
      const { message, left } = steps[step];
      notify(done, done + left, message);
      ticks = everySoOften(
        everyMs,
        (seconds, count) => notify(done + count / (count + 1), done + left, `${message}: ${seconds} s`),
      );
    },
    [Symbol.dispose]: () => ticks?.[Symbol.dispose](),
  };
}

/** Tells a client how many seconds a statement has run, once that are some. Without a listener there is no timer. */
export function tellElapsed(
  notify: Notify,
  message: string,
  everyMs = tellEveryMs,
): Disposable | undefined {
  return notify && everySoOften(everyMs, (seconds) => notify(seconds, undefined, `${message}: ${seconds} s`));
}

function everySoOften(everyMs: number, tell: (seconds: number, count: number) => void): Disposable {
  let count = 0;
  const timer = setInterval(() => {
    count++;
    tell(count * everyMs / 1000, count);
  }, everyMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
