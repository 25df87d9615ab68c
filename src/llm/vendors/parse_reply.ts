import type { z } from "zod";
import { ProviderError } from "../provider_error.ts";

/**
 * A reader of replies of one shape. Members that the schema does not name are ignored.
 * @throws {ProviderError} `provider`, with the places of what is wrong, never with the values there
 */
export function replyReader<T>(schema: z.ZodType<T>): (json: unknown) => T {
  return (json) => {
    const result = schema.safeParse(json);
    if (result.success) return result.data;
    const faults = result.error.issues.slice(0, 3)
      .map((issue) => `${issue.path.map(String).join(".") || "reply"}: ${issue.message}`);
    throw new ProviderError("provider", `the reply has an unexpected shape: ${faults.join("; ")}`);
  };
}

/**
 * The value that one item of a stream spells.
 * @throws {ProviderError} `provider`
 */
export function parseItem(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    throw new ProviderError("provider", `an item of the stream is not JSON (${data.length} characters)`);
  }
}
