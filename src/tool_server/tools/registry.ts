import { AppError, type ErrorCode } from "../../core/app_error.ts";
import { whyEnded } from "../../core/async/abort.ts";
import { didYouMean } from "../../core/document/near_name.ts";
import type { Principal } from "../../core/principal.ts";
import { type AccessObject, accessTo, visibleTo } from "../../identity/access_rules.ts";
import type { CallContext } from "../call_context.ts";
import {
  type CallError,
  errorResult,
  type Tool,
  type ToolDescription,
  type ToolResult,
  type ToolRun,
} from "./tool.ts";

/** What the server offers, whatever the transport. */
export interface Registry {
  /** Those that a principal may know of. */
  listTools(principal: Principal): readonly ToolDescription[];
  /** Whether a call of the tool may be answered with a task's handle; false where there is no such tool. */
  mayBecomeTask(name: string): boolean;
  /**
   * Runs a tool. What goes wrong while it runs gives a result with `isError`.
   * @throws {AppError} `invalid` for a tool that does not exist for the caller, or arguments that do not fit its schema;
   * `forbidden`, with `scopes`, where the caller's token lacks one of them; `overloaded`, with `retryAfterSeconds`, where
   * there is no room for the call
   */
  callTool(name: string, args: unknown, context: CallContext): Promise<ToolResult>;
}

/** A call that has ended, for whoever keeps account of them. */
export interface CallReport {
  readonly tool: string;
  readonly args: unknown;
  readonly context: CallContext;
  readonly result: ToolResult;
  /** Where a statement gave no rows. */
  readonly error?: CallError;
  readonly elapsedMs: number;
}

export interface RegistryOptions {
  readonly tools: readonly Tool[];
  /** Scopes that a tool needs, by its name. */
  readonly scopesByTool?: Readonly<Record<string, readonly string[]>>;
  /** The reply waits for it, so that no caller reads of a call that is not accounted for. */
  readonly onCall?: (report: CallReport) => void | Promise<void>;
  /**
   * Told of each call that has ended, those that did not fit too, as `invalid`; the name is empty where there is no such
   * tool. `error` is one that is no statement's.
   */
  readonly onEnded?: (tool: string, result: CallEnd, elapsedMs: number) => void;
}

export type CallEnd = "ok" | "error" | "invalid" | "forbidden" | CallError["kind"];

export function createRegistry(options: RegistryOptions): Registry {
  const { scopesByTool = {}, onEnded = () => {} } = options;
  const offered = options.tools.map((tool): OfferedTool => {
    const { name } = tool.description;
    const scopes = Object.hasOwn(scopesByTool, name) ? scopesByTool[name] : undefined;
    return { kind: "tool", name, tool, ...(scopes === undefined ? {} : { scopes }) };
  });
  const byName = new Map(offered.map((each) => [each.name, each]));
  const listed = offered.filter(({ tool }) => !tool.hidden);
  const descriptions = listed.map(({ tool }) => tool.description);
  const lists = new Map<string, readonly ToolDescription[]>();
  const visible = (principal: Principal) =>
    visibleTo(principal, listed).filter((tool) => isFor(tool, principal));

  /** @throws {AppError} `invalid`, the same for a tool that does not exist and one that is hidden; `forbidden` */
  function find(name: string, principal: Principal): Tool {
    const found = byName.get(name);
    const access = found && accessTo(principal, found);
    if (found === undefined || access === undefined || access.kind === "hidden" || !isFor(found, principal)) {
      onEnded("", "invalid", 0);
      const shown = name.slice(0, 100);
      const hint = didYouMean(shown, visible(principal).map(({ name }) => name));
      throw new AppError(
        "invalid",
        `Cannot call tool ${JSON.stringify(shown)}: there is no such tool${hint}`,
      );
    }
    if (access.kind === "granted") return found.tool;
    onEnded(name, "forbidden", 0);
    const { scopes } = access;
    throw new AppError(
      "forbidden",
      `Cannot call tool "${name}": the access token does not have the scopes ${scopes.join(" ")}`,
      { data: { scopes } },
    );
  }

  /** @throws {AppError} `invalid` */
  function prepare(tool: Tool, args: unknown) {
    try {
      return tool.prepare(args);
    } catch (error) {
      onEnded(tool.description.name, "invalid", 0);
      throw error;
    }
  }

  async function run(tool: Tool, args: unknown, context: CallContext): Promise<ToolRun & Refused> {
    const call = prepare(tool, args);
    try {
      return await call(context);
    } catch (error) {
      if (error instanceof AppError && error.code !== "internal") {
        const result = errorResult(error.message, callError(error));
        return error.code === "overloaded" ? { ...result, refusal: error } : result;
      }
      if (context.signal.aborted) {
        return errorResult(`The call was cancelled because ${whyEnded(context.signal)}`);
      }
      context.logger.error(`Tool ${tool.description.name} failed`, { error });
      return errorResult("An internal error occurred; the server's log has the detail");
    }
  }

  return {
    listTools(principal) {
      const tools = visible(principal);
      if (tools.length === listed.length) return descriptions;
      // one and the same list for all who see the same: its JSON is made once
      const key = tools.map(({ name }) => name).join(" ");
      const known = lists.get(key) ?? tools.map(({ tool }) => tool.description);
      if (lists.size < maxLists) lists.set(key, known);
      return known;
    },

    mayBecomeTask: (name) => byName.get(name)?.tool.mayBecomeTask === true,

    async callTool(name, args, context) {
      const tool = find(name, context.principal);
      const started = performance.now();
      const { error, refusal, ...result } = await run(tool, args, context);
      const elapsedMs = performance.now() - started;
      onEnded(name, error?.kind ?? (result.isError ? "error" : "ok"), elapsedMs);
      await options.onCall?.({
        tool: name,
        args,
        context,
        result,
        ...(error === undefined ? {} : { error }),
        elapsedMs,
      });
      if (refusal !== undefined) throw refusal;
      return result;
    },
  };
}

/** Rights divide callers into few groups. */
const maxLists = 100;

function isFor({ tool }: OfferedTool, principal: Principal): boolean {
  return tool.isFor?.(principal) ?? true;
}

interface OfferedTool extends AccessObject {
  readonly tool: Tool;
}

interface Refused {
  /** Where there was no room for the call: no model can mend that, so it is no result. */
  readonly refusal?: AppError;
}

/** What an error that reading from a database throws is accounted as; undefined for any other. */
function callError({ code, data }: AppError): CallError | undefined {
  const kind = errorKinds[code];
  const sqlState = data?.["sqlState"];
  return kind && { kind, ...(typeof sqlState === "string" ? { sqlState } : {}) };
}

const errorKinds: Partial<Record<ErrorCode, CallError["kind"]>> = {
  unavailable: "unavailable",
  overloaded: "overloaded",
  timeout: "timeout",
  upstream: "failed",
};
