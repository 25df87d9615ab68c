import { MissingRequiredClientCapabilityError } from "@modelcontextprotocol/server";
import type { CallContext } from "../call_context.ts";
import type { McpCall } from "./answer_call.ts";
import { errorObject } from "./json_rpc_error.ts";
import type { Tasks } from "./tasks.ts";

/** MCP Tasks extension (SEP-2663), "Extension Identifier". */
export const tasksExtension = "io.modelcontextprotocol/tasks";

type TaskAnswer = (taskId: unknown, context: CallContext) => object;

/** What a client does with tasks. They ask for no input, so `tasks/update` changes nothing. */
export function taskMethods(tasks: Tasks): (readonly [McpCall["method"], TaskAnswer])[] {
  const methods: readonly (readonly [McpCall["method"], TaskAnswer])[] = [
    ["tasks/get", (taskId, { principal }) => {
      const { view, ended } = tasks.get(principal, taskId);
      switch (ended?.status) {
        case "completed":
          return { ...view, result: ended.result };
        case "failed":
          return { ...view, error: errorObject(ended.thrown) };
        default:
          return view;
      }
    }],
    ["tasks/update", (taskId, { principal }) => {
      tasks.get(principal, taskId);
      return {};
    }],
    ["tasks/cancel", (taskId, { principal }) => {
      tasks.cancel(principal, taskId);
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
