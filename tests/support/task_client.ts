import { Client, type RequestOptions, type Transport } from "@modelcontextprotocol/client";
import { z } from "zod";

const anyResult = z.looseObject({});
const handle = z.looseObject({ taskId: z.string(), status: z.literal("working") });

export type TaskClient = Awaited<ReturnType<typeof connectTaskClient>>;

/**
 * The official client, declaring the Tasks extension. It knows the results of core alone, so a handle is shown to it as a
 * result that is complete, once `resultType` has been seen.
 */
export async function connectTaskClient(
  transport: Transport,
  extensions: Record<string, Record<string, never>> = { "io.modelcontextprotocol/tasks": {} },
) {
  const client = new Client({ name: "test", version: "1" }, {
    capabilities: { extensions, elicitation: { form: {} } },
    versionNegotiation: { mode: "auto" },
  });
  await client.connect(transport);
  const deliver = transport.onmessage;
  transport.onmessage = (message, extra) => {
    const isTask = "result" in message && message.result["resultType"] === "task";
    deliver?.(
      isTask ? { ...message, result: { ...message.result, content: [], resultType: "complete" } } : message,
      extra,
    );
  };
  const request = (method: string, taskId: unknown) =>
    client.request({ method, params: { taskId } }, anyResult);
  return {
    client,
    call: (name: string, args: Record<string, unknown> = {}) => client.callTool({ name, arguments: args }),
    /** Calls a tool that takes long. */
    async begin(
      name: string,
      args: Record<string, unknown> = {},
      options: RequestOptions = {},
    ): Promise<z.infer<typeof handle>> {
      return handle.parse(await client.callTool({ name, arguments: args }, options));
    },
    get: (taskId: unknown) => request("tasks/get", taskId),
    update: (taskId: unknown) => request("tasks/update", taskId),
    cancel: (taskId: unknown) => request("tasks/cancel", taskId),
    /** Polls until the task has ended. */
    async ended(taskId: string) {
      for (;;) {
        const task = await request("tasks/get", taskId);
        if (task["status"] !== "working") return task;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}
