import { AppError } from "../core/app_error.ts";
import type { Principal } from "../core/principal.ts";
import type { CallContext, ToolDescription, ToolResult } from "../core/tool.ts";
import { failure, type Tool } from "./tool.ts";

/** What the server offers, whatever the transport. */
export interface Registry {
  listTools(principal: Principal): readonly ToolDescription[];
  /**
   * Runs a tool. A tool that fails gives a result with `isError`.
   * @throws {AppError} `invalid` for an unknown tool or arguments that do not fit its schema.
   */
  callTool(name: string, args: unknown, context: CallContext): Promise<ToolResult>;
}

export function createRegistry(options: { tools: readonly Tool[] }): Registry {
  const tools = new Map(options.tools.map((tool) => [tool.description.name, tool]));
  const descriptions = options.tools.map((tool) => tool.description);

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
      const run = tool.prepare(args);
      try {
        return await run(context);
      } catch (error) {
        if (error instanceof AppError && error.code !== "internal") return failure(error.message);
        if (context.signal.aborted) return failure("The call was cancelled");
        context.logger.error(`Tool ${name} failed`, { tool: name, error });
        return failure("An internal error occurred; the server's log has the detail");
      }
    },
  };
}
