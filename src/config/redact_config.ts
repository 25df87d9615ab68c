import { redacted, redactText } from "../core/redact.ts";
import { isMap } from "./value_tree.ts";

/** Keys whose text is a secret, and keys whose whole mapping may hold one. */
const secretKey = /password$|api_key$/;
const secretMap = /headers$|^session_settings$/;

/** A copy of a configuration without passwords, keys and headers, fit for printing and for a log. */
export function redactConfig(config: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [key, redactEntry(key, value)]));
}

function redactEntry(key: string, value: unknown): unknown {
  if (value === undefined) return undefined;
  if (secretKey.test(key)) return redacted;
  if (Array.isArray(value)) return value.map((item) => redactEntry(key, item));
  if (isMap(value)) {
    return secretMap.test(key)
      ? Object.fromEntries(Object.keys(value).map((name) => [name, redacted]))
      : redactConfig(value);
  }
  return typeof value === "string" ? redactText(value) : value;
}
