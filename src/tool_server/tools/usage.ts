import { z } from "zod";
import { limitNames } from "../../core/quotas/limit_kinds.ts";
import type { Quotas } from "../../core/quotas/quotas.ts";
import { defineTool, type Tool } from "./tool.ts";

/** Tells callers their limits, and how much of them is left. */
export function usage({ quotas }: { readonly quotas: Pick<Quotas, "isOn" | "usage"> }): Tool {
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
    }),
    isFor: () => quotas.isOn,
    isFree: true,
    run(_args, { principal }) {
      const limits = quotas.usage(principal);
      const lines = limits.map(({ limit, used, maximum, resets_at }) =>
        `${limit}: ${used} of ${maximum} used${resets_at === undefined ? "" : `, anew at ${resets_at}`}`
      );
      const text = lines.length === 0 ? "You have no limits." : lines.join("\n");
      return Promise.resolve({ text, data: { limits } });
    },
  });
}
