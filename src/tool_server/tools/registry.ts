import { AppError } from "../../core/app_error.ts";
import { whyEnded } from "../../core/call_ended.ts";
import type { Principal } from "../../core/principal.ts";
import type { CallContext, ToolDescription, ToolResult } from "../../core/tool.ts";
import { type CallFault, failure, faultOf, type Tool, type ToolRun } from "./tool.ts";

/** What the server offers, whatever the transport. */
export interface Registry {
  listTools(principal: Principal): readonly ToolDescription[];
  /**
   * Runs a tool. A tool that fails gives a result with `isError`.
   * @throws {AppError} `invalid` for an unknown tool or arguments that do not fit its schema.
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
  readonly fault?: CallFault;
  readonly elapsedMs: number;
}

export interface RegistryOptions {
  readonly tools: readonly Tool[];
  /** The reply waits for it: what a caller has read of is accounted for. */
  readonly onCall?: (report: CallReport) => void | Promise<void>;
}

export function createRegistry(options: RegistryOptions): Registry {
  const tools = new Map(options.tools.map((tool) => [tool.description.name, tool]));
  const descriptions = options.tools.filter((tool) => !tool.hidden).map((tool) => tool.description);

  async function settle(tool: Tool, args: unknown, context: CallContext): Promise<ToolRun> {
    const run = tool.prepare(args);
    try {
      return await run(context);
    } catch (error) {
      if (error instanceof AppError && error.code !== "internal") {
        const fault = faultOf(error);
        return { ...failure(error.message), ...(fault === undefined ? {} : { fault }) };
      }
      if (context.signal.aborted) {
        return failure(`The call was cancelled because ${whyEnded(context.signal)}`);
      }
      context.logger.error(`Tool ${tool.description.name} failed`, { error });
      return failure("An internal error occurred; the server's log has the detail");
    }
  }

  return {
    listTools: () => descriptions,

    async callTool(name, args, context) {
      const tool = tools.get(name);
      if (tool === undefined) {
        throw new AppError(
          "invalid",
          `Cannot call tool ${JSON.stringify(name.slice(0, 100))}: there is no such tool`,
        );
      }
      const started = performance.now();
      const { fault, ...result } = await settle(tool, args, context);
      const elapsedMs = performance.now() - started;
      const outcome = { result, ...(fault === undefined ? {} : { fault }) };
      await options.onCall?.({ tool: name, args, context, ...outcome, elapsedMs });
      return result;
    },
  };
}
