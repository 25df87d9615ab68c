import { Buffer } from "node:buffer";
import { settingNamePattern } from "./schema/field_types.ts";
import {
  heldSettings,
  isFilledIn,
  longestRoleBytes,
  settableSettings,
} from "../postgres/session_setting_kinds.ts";
import { isMap, listOf, mapOf, type SettingPath, valueAt, type ValueMap } from "../core/yaml/value_tree.ts";
import type { Report } from "./fault.ts";
import { didYouMean, nearestName } from "../core/text/near_name.ts";

/** The faults of what tells row-level security who asks, in an entry of `databases` or `pipelines`. */
export function checkRowSecurity(entry: unknown, path: SettingPath, report: Report): void {
  if (!isMap(entry)) return;
  const { role_from_user, role_from_claim, allowed_roles, session_settings } = entry;
  if (role_from_claim !== undefined && role_from_user === true) {
    report([...path, "role_from_claim"], "cannot be given together with role_from_user");
  }
  const roles = listOf(allowed_roles);
  if (role_from_claim !== undefined && roles.length === 0) {
    report([...path, "allowed_roles"], "is required where role_from_claim is given");
  }
  if (role_from_claim === undefined && allowed_roles !== undefined) {
    report([...path, "allowed_roles"], "has no effect without role_from_claim");
  }
  checkRoles(roles, [...path, "allowed_roles"], report);
  if (!isMap(session_settings)) return;
  checkSettingNames(Object.keys(session_settings), [...path, "session_settings"], report);
  checkTemplates(session_settings, [...path, "session_settings"], report);
}

/**
 * The faults of a database or a pipeline that asks for claims where nobody has any: it would refuse everyone. The tool
 * server reads pipelines too, so for these the issuers of both servers count.
 */
export function checkClaims(tree: ValueMap, report: Report): void {
  const { http, server, identity } = tree;
  const issuers = [http, server].map((section) => valueAt(section, ["auth", "identity_provider"]));
  const ofTools = issuers[0] ?? valueAt(http, ["auth", "oauth", "login"]);
  const waysOfTools = "http.auth.identity_provider, http.auth.oauth.login";
  const sources = {
    databases: { isGiven: ofTools !== undefined, ways: waysOfTools.replace(",", " or") },
    pipelines: {
      isGiven: (ofTools ?? issuers[1]) !== undefined || valueAt(identity, ["enabled"]) === true,
      ways: `${waysOfTools}, server.auth.identity_provider or identity`,
    },
  };
  for (const [part, { isGiven, ways }] of Object.entries(sources)) {
    if (isGiven) continue;
    for (const [index, entry] of listOf(tree[part]).entries()) {
      for (const path of claimPaths(entry)) {
        report([part, index, ...path], `asks for a claim, which nobody has: it needs ${ways}`);
      }
    }
  }
}

function claimPaths(entry: unknown): SettingPath[] {
  const asking = Object.entries(mapOf(valueAt(entry, ["session_settings"])))
    .filter(([, template]) => claimPlaceholder.test(String(template)))
    .map(([name]) => ["session_settings", name]);
  return valueAt(entry, ["role_from_claim"]) === undefined ? asking : [["role_from_claim"], ...asking];
}

const claimPlaceholder = /(?<!\$)\{(?:claims|claim:[^{}]+)\}/;

/** The faults of claims in a header, and of settings that would keep them from the policies. */
export function checkIdentity(tree: ValueMap, report: Report): void {
  const { identity, pipelines } = tree;
  if (valueAt(identity, ["enabled"]) !== true) return;
  if (valueAt(tree, ["server", "auth", "enabled"]) === true) {
    report(
      ["identity", "enabled"],
      "cannot be on together with server.auth.enabled: one of them tells who asks",
    );
  }
  const [proxies, roles] = ["trusted_proxies", "allowed_roles"].map((key) =>
    listOf(valueAt(identity, [key]))
  );
  if (proxies?.length === 0) {
    report(
      ["identity", "trusted_proxies"],
      "is required where identity is enabled: without it everyone could claim to be anyone",
    );
  }
  checkRoles(roles ?? [], ["identity", "allowed_roles"], report);
  const [claimsHeader, subjectHeader] = ([
    ["claims_header", "X-Forwarded-Claims"],
    ["subject_header", "X-Forwarded-User"],
  ] as const).map(([key, byDefault]) => String(valueAt(identity, [key]) ?? byDefault));
  if (claimsHeader?.toLowerCase() === subjectHeader?.toLowerCase()) {
    report(
      ["identity", valueAt(identity, ["subject_header"]) === undefined ? "claims_header" : "subject_header"],
      "expected different headers in claims_header and subject_header; subject_header: - asks for claims alone, " +
        "claims_header: - for a name alone",
    );
  }
  const setting = String(valueAt(identity, ["claims_setting"]) ?? "request.jwt.claims").toLowerCase();
  for (const [index, pipeline] of listOf(pipelines).entries()) {
    const own = Object.keys(mapOf(valueAt(pipeline, ["session_settings"])));
    const taken = own.find((name) => name.toLowerCase() === setting);
    if (taken === undefined) continue;
    report(
      ["pipelines", index, "session_settings", taken],
      "cannot be set here: identity.claims_setting sets it",
    );
  }
}

function checkRoles(roles: readonly unknown[], path: SettingPath, report: Report): void {
  for (const [index, role] of roles.entries()) {
    if (role === "none" || Buffer.byteLength(String(role)) > longestRoleBytes) {
      report([...path, index], `expected a role's name: at most ${longestRoleBytes} bytes, not none`);
    }
  }
}

/** A name that PostgreSQL does not take would make every statement fail, and some would make it run unbounded. */
function checkSettingNames(names: readonly string[], path: SettingPath, report: Report): void {
  for (const [index, name] of names.entries()) {
    const lower = name.toLowerCase();
    const same = names.slice(0, index).find((other) => other.toLowerCase() === lower);
    if (same !== undefined) report([...path, name], `is the same setting as ${same}`);
    if (Object.hasOwn(heldSettings, lower)) {
      report([...path, name], `cannot be set here: ${heldSettings[lower]}`);
    } else if (!settableSettings.some((each) => each === lower) && !settingNamePattern.test(name)) {
      report(
        [...path, name],
        "expected a setting of your own, of letters, digits, _ and $ with a dot between them, such as app.tenant, or one " +
          `of PostgreSQL's for reading, such as search_path${didYouMean(name, settableSettings)}`,
      );
    }
  }
}

function checkTemplates(settings: ValueMap, path: SettingPath, report: Report): void {
  for (const [name, template] of Object.entries(settings)) {
    const text = typeof template === "string" ? template : "";
    const [shells] = shellReference.exec(text) ?? [];
    if (shells !== undefined) {
      report([...path, name], `${shells}: write ${shells.slice(1)}, without $`);
      continue;
    }
    // what is no placeholder would reach the policies as it stands, the same for every caller
    const wrong = text.match(inBraces)?.find((each) => !isFilledIn(each));
    if (wrong !== undefined) {
      report([...path, name], `${wrong}: expected {username}, {claims} or {claim:NAME}${meant(wrong)}`);
    }
  }
}

/** Not the braces of JSON's objects, nor those of an array whose items are quoted or numbers. */
const inBraces = /\{\s*[^\s"{}\d-][^{}]*\}?/g;

const meantBy: Readonly<Record<string, string>> = {
  username: "username",
  user: "username",
  claims: "claims",
  claim: "claim:NAME",
};

function meant(placeholder: string): string {
  const name = placeholder.replace(/^\{\s*|\s*\}?$/g, "");
  const [head = "", claim = ""] = name.split(/[:.]\s*(.*)/s);
  const nearest = nearestName(head, claim === "" ? Object.keys(meantBy) : ["claim"]);
  if (nearest === undefined) return "";
  return `; did you mean {${claim === "" ? meantBy[nearest] : `claim:${claim}`}}?`;
}

/** A placeholder as shells write it: it would be filled in, and the `$` stay before it. */
export const shellReference = /\$\{(?:claims|claim:[^{}]*|username)\}/;
