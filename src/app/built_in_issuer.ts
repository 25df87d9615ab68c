import type { Config } from "../config/mod.ts";

/** The issuer of the built-in authorization server; undefined where there is none. */
export function builtInIssuer({ enabled, methods, oauth }: Config["http"]["auth"]): string | undefined {
  return enabled && methods.oauth ? oauth.issuer : undefined;
}
