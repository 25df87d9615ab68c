import type { CallContext as CallerContext } from "../calls/calls.ts";
import type { Logger } from "../core/logger.ts";
import type { Principal } from "../core/principal.ts";
import type { Span } from "../core/tracing.ts";

/** What a call carries besides its arguments. */
export interface CallContext extends CallerContext {
  /** Optional: none where the client speaks bare JSON-RPC, which has one answer and no more. */
  readonly client?: CallClient | undefined;
}

/** What the client of a call can do while and after it runs. */
export interface CallClient {
  /**
   * Tells how far the call is, where the client asked to know (MCP, Progress): each `progress` is larger than the one
   * before, `total` absent where unknown. Never throws and never waits.
   */
  readonly notifyProgress?:
    | ((progress: number, total: number | undefined, message: string) => void)
    | undefined;
  /** Whether it can put a question to its user and call again with the answer (MCP, Elicitation, "form"). */
  readonly canAsk: boolean;
  /** What its user answered to the questions that an earlier call of the same was answered with; from outside. */
  readonly answers?: JsonObject | undefined;
  /** Whether it shows views (MCP Apps, `text/html;profile=mcp-app`). */
  readonly showsViews: boolean;
  /** Whether it knows links to resources in results (since revision 2025-06-18): others refuse the whole result. */
  readonly takesLinks?: boolean;
  /** Whether a call of it may become a task (MCP, Tasks); it says so in each request. */
  readonly takesTasks?: boolean;
}

/**
 * The same call with another signal, with its own span where it is traced, and with what its client can do. The address is
 * not looked at: it may be made only when it is asked for.
 */
export function withSignal(
  caller: CallContext,
  signal: AbortSignal,
  span?: Span,
  client: CallClient | undefined = caller.client,
): CallContext {
  return new CallWithSignal(caller, signal, span, client);
}

// a class, as in endpoint.ts: a literal with getters would be kept for long
class CallWithSignal implements CallContext {
  readonly principal: Principal;
  readonly requestId: string | undefined;
  readonly logger: Logger;
  constructor(
    private readonly caller: CallContext,
    readonly signal: AbortSignal,
    readonly span: Span | undefined,
    readonly client: CallClient | undefined,
  ) {
    this.principal = caller.principal;
    this.requestId = caller.requestId;
    this.logger = span === undefined ? caller.logger : caller.logger.with({ trace_id: span.traceId });
  }
  get address(): string | undefined {
    return this.caller.address;
  }
}

export type JsonObject = Readonly<Record<string, unknown>>;

interface TextContent {
  readonly type: "text";
  readonly text: string;
}

/** A picture, in base64. */
interface ImageContent {
  readonly type: "image";
  readonly data: string;
  readonly mimeType: string;
}

/** Where more about a result stands: clients read it with `resources/read`. */
export interface ResourceLink {
  readonly type: "resource_link";
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
}

/** What a tool's result is made of (MCP, ContentBlock). */
export type ToolContent = TextContent | ResourceLink;

/** What a prompt's message holds. */
export type PromptContent = ToolContent | ImageContent;

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
