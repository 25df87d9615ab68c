import { z } from "zod";
import { limitNames } from "../../core/quotas/limit_kinds.ts";
import type { Quotas } from "../../core/quotas/quotas.ts";
import { defineTool, type Tool } from "./tool.ts";

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
