import { z } from "zod";
import { sessionIdOf } from "../../core/principal.ts";
import { limitNames } from "../../core/quotas/usage_counts.ts";
import type { Quotas } from "../../core/quotas/quotas.ts";
import { defineTool, type Tool } from "./tool.ts";
import { type History, historyOwner } from "../questions/history.ts";

/** Tells callers their limits, and how much of them is left. */
export function usage({ quotas }: { readonly quotas: Pick<Quotas, "isOn" | "usage" | "shared"> }): Tool {
  return defineTool({
    name: "usage",
    title: "Usage",
    description:
      "Your limits, and what is left of each. Use it after an error that names a limit, or before much work.",
    input: z.strictObject({}),
    output: z.object({
      limits: z.array(z.object({
        limit: z.enum(limitNames),
        maximum: z.int(),
        used: z.int(),
        remaining: z.int(),
        resets_at: z.string().optional(),
      })),
      shared: z.array(z.object({
        limit: z.enum(limitNames),
        maximum: z.int(),
        resets_at: z.string().optional(),
      })),
    }),
    isFor: () => quotas.isOn,
    isFree: true,
    run(_args, { principal }) {
      const limits = quotas.usage(principal);
      const shared = quotas.shared();
      const anew = (at: string | undefined) => at === undefined ? "" : `, anew at ${at}`;
      const lines = [
        ...limits.map(({ limit, used, maximum, resets_at }) =>
          `${limit}: ${used} of ${maximum} used${anew(resets_at)}`
        ),
        ...shared.map(({ limit, maximum, resets_at }) =>
          `${limit}: ${maximum} for all callers together${anew(resets_at)}`
        ),
      ];
      const text = lines.length === 0 ? "You have no limits." : lines.join("\n");
      return Promise.resolve({ text, data: { limits, shared } });
    },
  });
}

/** Ends the session that calls it. */
export function logout(options: { endSession: (id: string) => Promise<void> }): Tool {
  return defineTool({
    name: "logout",
    title: "Log out",
    description: "End the session whose token this call carries; its token is refused from now on.",
    hidden: true,
    isFree: true,
    input: z.strictObject({}),
    output: z.object({ success: z.boolean(), message: z.string() }),
    annotations: { readOnlyHint: false, idempotentHint: true },
    async run(_args, { principal }) {
      const id = sessionIdOf(principal);
      if (id === undefined) {
        return {
          errorText:
            "Cannot log out: this is not the session of a user; an API token is removed by an administrator",
        };
      }
      await options.endSession(id);
      const data = { success: true, message: "Logged out" };
      return { text: JSON.stringify(data), data };
    },
  });
}

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
    async run(_args, { principal }) {
      const forgotten = await history.forget(historyOwner(principal));
      const text = forgotten === 0
        ? "There was nothing to forget."
        : `Forgot ${forgotten} ${forgotten === 1 ? "request" : "requests"}.`;
      return { text, data: { forgotten } };
    },
  });
}
