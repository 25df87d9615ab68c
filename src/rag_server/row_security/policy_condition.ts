import type { CallerOptions } from "../../postgres/read/caller_settings.ts";
import { quoteIfNeeded, quoteLiteral } from "../../postgres/sql_text.ts";

/** What a policy could ask, as SQL: by what tells the database who asks, and columns that are a guess. */
export function policyCondition({ sessionSettings }: Pick<CallerOptions, "sessionSettings">): string {
  const settings = Object.entries(sessionSettings);
  const value = (name: string) => `nullif(current_setting(${quoteLiteral(name)}, true), '')`;
  for (const [name, template] of settings) {
    const claim = /\{claim:([^{}]+)\}/.exec(template)?.[1];
    if (claim !== undefined) return `${quoteIfNeeded(claim)} = ${value(name)}`;
  }
  const claims = settings.find(([, template]) => template.includes("{claims}"));
  if (claims !== undefined) return `tenant = ${value(claims[0])}::json ->> 'tenant'`;
  const username = settings.find(([, template]) => template.includes("{username}"));
  return username === undefined ? "owner = current_user" : `owner = ${value(username[0])}`;
}
