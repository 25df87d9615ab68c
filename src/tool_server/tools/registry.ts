import { defined } from "../../core/defined.ts";
import { AppError, type ErrorCode } from "../../core/app_error.ts";
import type { Principal } from "../../core/principal.ts";
import {
  type Access,
  type AccessObject,
  accessTo,
  grantedTo,
  visibleTo,
} from "../../identity/access_rules.ts";
import type { CallContext } from "../call_context.ts";
import {
  type CallError,
  cancelledResult,
  errorResult,
  type Tool,
  type ToolDescription,
  type ToolRun,
} from "./tool.ts";
import { didYouMean } from "../../core/text/near_name.ts";

/** What the server offers, whatever the transport. */
export interface Registry {
  /** Those that a principal may know of, but for those that clients find by `find_tools` alone. */
  listTools(principal: Principal): readonly ToolDescription[];
  /** Whether a call of the tool may be answered with a task's handle; false where there is no such tool. */
  mayBecomeTask(name: unknown): boolean;
  /** Whether there is such a tool for a principal, who may lack a scope for it. */
  isKnown(name: unknown, principal: Principal): boolean;
  /**
   * Checks a call of a tool. What goes wrong while it runs gives a result with `isError`, but for `overloaded` and
   * `quota_exceeded`, which it throws: no model can mend them.
   *
   * @throws {AppError} `invalid` for a tool that does not exist for the caller, or arguments that do not fit its schema;
   * `forbidden`, with `scopes`, where the caller's token lacks one of them
   */
  prepareCall(name: string, args: unknown, principal: Principal): ToolCall;
}

/** A call of a tool that was checked. */
interface ToolCall {
  /** Whether it counts in no limit. */
  readonly isFree: boolean;
  run(context: CallContext): Promise<ToolRun>;
}

/** The same, for those that put the server together. */
export interface ToolRegistry extends Registry {
  /** All that a principal may call, but for those that no model sees. */
  usableTools(principal: Principal): readonly ToolDescription[];
  /** Why a principal may not call a tool; undefined where it may. */
  whyNotUsable(name: string, principal: Principal): string | undefined;
  /** Puts tools that a definitions file has in the place of those that it had; says whether any list is another now. */
  replaceDefined(tools: readonly Tool[]): boolean;
}

export interface RegistryOptions {
  readonly tools: readonly Tool[];
  /** Whether lists show those of a definitions file too. */
  readonly listsDefined?: boolean;
  /** Scopes that a tool needs, by its name. */
  readonly scopesByTool?: Readonly<Record<string, readonly string[]>>;
}

export function createRegistry(options: RegistryOptions): ToolRegistry {
  const { scopesByTool = {}, listsDefined = true } = options;
  const builtin = options.tools.map(offer);
  let offered = offerAll([]);

  function offer(tool: Tool): OfferedTool {
    const { available_to_users, description: { name } } = tool;
    const scopes = Object.hasOwn(scopesByTool, name) ? scopesByTool[name] : undefined;
    return {
      kind: "tool",
      name,
      tool,
      ...defined({ available_to_users, scopes }),
    };
  }

  function offerAll(tools: readonly Tool[]) {
    const defined = tools.map(offer);
    const all = [...builtin, ...defined];
    return {
      defined,
      byName: new Map(all.map((each) => [each.name, each])),
      usable: all.filter(({ tool }) => !tool.hidden),
      listed: createLists((listsDefined ? all : builtin).filter(({ tool }) => !tool.hidden)),
    };
  }

  /** @throws {AppError} `invalid`, the same for a tool that does not exist and one that is hidden; `forbidden` */
  function find(name: string, principal: Principal): Tool {
    const found = offered.byName.get(name);
    const access = accessOf(found, principal);
    if (found === undefined || access.kind === "hidden") {
      const shown = name.slice(0, 100);
      const hint = didYouMean(shown, visible(principal, offered.usable).map(({ name }) => name));
      throw new AppError(
        "invalid",
        `Cannot call tool ${JSON.stringify(shown)}: there is no such tool${hint}`,
      );
    }
    if (access.kind === "granted") return found.tool;
    const { scopes, missing } = access;
    throw new AppError("forbidden", `Cannot call tool "${name}": ${missing}`, { data: { scopes } });
  }

  return {
    listTools: (principal) => offered.listed(principal),

    whyNotUsable(name, principal) {
      const access = accessOf(offered.byName.get(name), principal);
      if (access.kind === "granted") return undefined;
      return access.kind === "hidden" ? `the tool ${name} is not offered` : `for ${name} ${access.missing}`;
    },

    usableTools: (principal) =>
      grantedTo(principal, offered.usable).filter((each) => isFor(each, principal))
        .map(({ tool }) => tool.description),

    replaceDefined(tools) {
      const before = offered.defined;
      offered = offerAll(tools);
      return listsDefined && shownText(before) !== shownText(offered.defined);
    },

    mayBecomeTask: (name) =>
      typeof name === "string" && offered.byName.get(name)?.tool.mayBecomeTask === true,

    isKnown: (name, principal) =>
      typeof name === "string" && accessOf(offered.byName.get(name), principal).kind !== "hidden",

    prepareCall(name, args, principal) {
      const tool = find(name, principal);
      const call = tool.prepare(args);
      return {
        isFree: tool.isFree ?? false,
        run: async (context) => await call(context).catch((thrown) => resultOf(thrown, name, context)),
      };
    },
  };
}

/** What a model is told of what a tool threw. @throws {AppError} `overloaded`, `quota_exceeded` */
function resultOf(thrown: unknown, name: string, { signal, logger }: CallContext): ToolRun {
  if (thrown instanceof AppError && thrown.code !== "internal") {
    if (thrown.code === "overloaded" || thrown.code === "quota_exceeded") throw thrown;
    return errorResult(thrown.message, callError(thrown));
  }
  if (signal.aborted) return cancelledResult(signal);
  logger.error(`Tool ${name} failed`, { error: thrown });
  return errorResult("An internal error occurred; the server's log has the detail");
}

/** Rights divide callers into few groups. */
const maxLists = 100;

/** One and the same list for all who see the same tools: its JSON is made once. */
function createLists(tools: readonly OfferedTool[]): (principal: Principal) => readonly ToolDescription[] {
  const descriptions = tools.map(({ tool }) => tool.description);
  const lists = new Map<string, readonly ToolDescription[]>();
  return (principal) => {
    const shown = visible(principal, tools);
    if (shown.length === tools.length) return descriptions;
    const names = shown.map(({ name }) => name).join(" ");
    const known = lists.get(names) ?? shown.map(({ tool }) => tool.description);
    if (lists.size < maxLists) lists.set(names, known);
    return known;
  };
}

function visible(principal: Principal, tools: readonly OfferedTool[]): OfferedTool[] {
  return visibleTo(principal, tools).filter((each) => isFor(each, principal));
}

function accessOf(offered: OfferedTool | undefined, principal: Principal): Access {
  return offered !== undefined && isFor(offered, principal)
    ? accessTo(principal, offered)
    : { kind: "hidden" };
}

function isFor({ tool }: OfferedTool, principal: Principal): boolean {
  return tool.isFor?.(principal) ?? true;
}

/** The same for tools that everybody sees the same of. */
function shownText(tools: readonly OfferedTool[]): string {
  return JSON.stringify(
    tools.map(({ tool: { description }, available_to_users }) => [description, available_to_users]),
  );
}

interface OfferedTool extends AccessObject {
  readonly tool: Tool;
}

/** What an error that reading from a database throws is accounted as; undefined for any other. */
export function callError({ code, data }: AppError): CallError | undefined {
  const kind = errorKinds[code];
  const sqlState = data?.["sqlState"];
  return kind && { kind, ...(typeof sqlState === "string" ? { sqlState } : {}) };
}

const errorKinds: Partial<Record<ErrorCode, CallError["kind"]>> = {
  unavailable: "unavailable",
  overloaded: "overloaded",
  quota_exceeded: "quota_exceeded",
  timeout: "timeout",
  forbidden: "forbidden",
  upstream: "failed",
};
