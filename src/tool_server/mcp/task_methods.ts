import { MissingRequiredClientCapabilityError } from "@modelcontextprotocol/server";
import type { CallContext } from "../call_context.ts";
import type { McpCall } from "./answer_call.ts";
import type { Tasks } from "./tasks.ts";

/** MCP Tasks extension (SEP-2663), "Extension Identifier". */
export const tasksExtension = "io.modelcontextprotocol/tasks";

type TaskAnswer = (taskId: unknown, context: CallContext) => Promise<object>;

/** What a client does with tasks. They ask for no input, so `tasks/update` changes nothing. */
export function taskMethods(tasks: Tasks): (readonly [McpCall["method"], TaskAnswer])[] {
  const methods: readonly (readonly [McpCall["method"], TaskAnswer])[] = [
    ["tasks/get", async (taskId, { principal }) => {
      const { view, ended } = await tasks.get(principal, taskId);
      switch (ended?.status) {
        case "completed":
          return { ...view, result: ended.result };
        case "failed":
          return { ...view, error: ended.error };
        default:
          return view;
      }
    }],
    ["tasks/update", async (taskId, { principal }) => {
      await tasks.get(principal, taskId);
      return {};
    }],
    ["tasks/cancel", async (taskId, { principal }) => {
      await tasks.cancel(principal, taskId);
      return {};
    }],
  ];
  return methods.map(([method, answer]) => [method, (taskId, context) => {
    if (context.client?.takesTasks === true) return answer(taskId, context);
    const requiredCapabilities = { extensions: { [tasksExtension]: {} } };
    throw new MissingRequiredClientCapabilityError(
      { requiredCapabilities },
      `Cannot answer ${method}: the request does not declare the extension ${tasksExtension}`,
    );
  }]);
}
