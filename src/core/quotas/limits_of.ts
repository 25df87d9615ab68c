import { accountOf, identityOf, type Principal, principalName } from "../principal.ts";
import { type LimitName, limitNames } from "./limit_kinds.ts";

/** Numbers by their names; one that is absent bounds nothing. */
export type Limits = { readonly [Name in LimitName]?: number | undefined };

/** Who may use how much. */
export interface LimitRules {
  /** Of each caller that has no number of its own. */
  readonly default?: Limits | undefined;
  /** Of all callers together. */
  readonly all?: Limits | undefined;
  /** By token id, username, issuer's subject, or `ISSUER#SUBJECT`. */
  readonly principals?: Readonly<Record<string, Limits>> | undefined;
  /** By the name of a group. */
  readonly groups?: Readonly<Record<string, Limits>> | undefined;
}

export const noLimits: Limits = {};

/** Whether the rules bound anybody. */
export function haveLimits({ default: ofEach, all, principals = {}, groups = {} }: LimitRules): boolean {
  return [ofEach, all, ...Object.values(principals), ...Object.values(groups)]
    .some((limits) => limits !== undefined && limitNames.some((name) => limits[name] !== undefined));
}

/**
 * What one caller may use. For each number the most specific rule counts: the caller's own before those of groups, of which
 * the largest counts, and these before the default.
 */
export function limitsOf(rules: LimitRules, principal: Principal): Limits {
  const caller = identityOf(principal);
  const own = namesOf(caller).flatMap((name) => ownRule(rules.principals, name));
  const groups = caller.kind === "issuer"
    ? caller.groups.flatMap((group) => ownRule(rules.groups, group))
    : [];
  if (own.length + groups.length === 0) return rules.default ?? noLimits;
  const limits: { [Name in LimitName]?: number } = {};
  for (const name of limitNames) {
    const ofGroups = groups.map((each) => each[name]).filter((most) => most !== undefined);
    const most = own.map((each) => each[name]).find((each) => each !== undefined) ??
      (ofGroups.length === 0 ? rules.default?.[name] : Math.max(...ofGroups));
    if (most !== undefined) limits[name] = most;
  }
  return limits;
}

/** The names that a rule may know a caller by, the most specific first. The local caller has none. */
function namesOf(caller: Principal): readonly string[] {
  if (caller.kind === "local") return [];
  const names = [
    principalName(caller),
    caller.kind === "issuer" ? caller.subject : undefined,
    accountOf(caller),
  ];
  return names.filter((name) => name !== undefined);
}

function ownRule(rules: Readonly<Record<string, Limits>> | undefined, name: string): Limits[] {
  const rule = rules !== undefined && Object.hasOwn(rules, name) ? rules[name] : undefined;
  return rule === undefined ? [] : [rule];
}
