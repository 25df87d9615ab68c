import { z } from "zod";
import { type History, historyOwner } from "../questions/history.ts";
import { defineTool, type Tool } from "./tool.ts";

/** Clears what the caller asked before. */
export function forget({ history }: { readonly history: History }): Tool {
  return defineTool({
    name: "forget",
    title: "Forget",
    description:
      "Clear the memory of your earlier requests to query_database, so that the next one cannot refer to them. " +
      "Cannot be undone.",
    input: z.strictObject({}),
    output: z.object({ forgotten: z.int().describe("How many requests were remembered.") }),
    // the specification's environment holds the server's own memory too, and a removal is more than an addition
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
    run(_args, { principal }) {
      const forgotten = history.forget(historyOwner(principal));
      const text = forgotten === 0
        ? "There was nothing to forget."
        : `Forgot ${forgotten} ${forgotten === 1 ? "request" : "requests"}.`;
      return Promise.resolve({ text, data: { forgotten } });
    },
  });
}
