import {
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { Principal } from "../../core/principal.ts";
import type { McpCall } from "./answer_call.ts";
import type { Params } from "./call_report.ts";
import { member } from "./call_client.ts";
import { errorObject } from "./json_rpc.ts";
import type { Tasks } from "./tasks.ts";

/** MCP Tasks extension (SEP-2663), "Extension Identifier". */
export const tasksExtension = "io.modelcontextprotocol/tasks";

/** Whether the client of a request can be answered with a task; it says so in each request. */
export function takesTasks({ mcpReq }: ServerContext): boolean {
  const capabilities = member(mcpReq.envelope, CLIENT_CAPABILITIES_META_KEY);
  return member(member(capabilities, "extensions"), tasksExtension) !== undefined;
}

/** What a client does with tasks. They ask for no input, so `tasks/update` changes nothing. */
export function taskMethods(tasks: Tasks, principal: Principal) {
  const methods: readonly [McpCall["method"], (taskId: unknown) => object][] = [
    ["tasks/get", (taskId) => {
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
    ["tasks/update", (taskId) => {
      tasks.get(principal, taskId);
      return {};
    }],
    ["tasks/cancel", (taskId) => {
      tasks.cancel(principal, taskId);
      return {};
    }],
  ];
  return methods.map(([method, answer]) => ({
    method,
    async answer({ taskId }: Params, context: ServerContext): Promise<object> {
      if (takesTasks(context)) return await answer(taskId);
      const requiredCapabilities = { extensions: { [tasksExtension]: {} } };
      throw new MissingRequiredClientCapabilityError(
        { requiredCapabilities },
        `Cannot answer ${method}: the request does not declare the extension ${tasksExtension}`,
      );
    },
  }));
}
