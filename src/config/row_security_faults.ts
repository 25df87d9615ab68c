import { Buffer } from "node:buffer";
import { isMap, type SettingPath, valueAt, type ValueMap } from "../core/document/value_tree.ts";
import { longestRoleBytes } from "../postgres/role_limits.ts";
import { guardedSettings } from "../postgres/setting_kinds.ts";

/** The faults of what tells row-level security who asks, in an entry of `databases` or `pipelines`. */
export function checkRowSecurity(
  entry: unknown,
  path: SettingPath,
  report: (path: SettingPath, message: string) => void,
): void {
  if (!isMap(entry)) return;
  const { role_from_user, role_from_claim, allowed_roles, session_settings } = entry;
  if (role_from_claim !== undefined && role_from_user === true) {
    report([...path, "role_from_claim"], "cannot be given together with role_from_user");
  }
  const roles = Array.isArray(allowed_roles) ? allowed_roles : [];
  if (role_from_claim !== undefined && roles.length === 0) {
    report([...path, "allowed_roles"], "is required where role_from_claim is given");
  }
  if (role_from_claim === undefined && allowed_roles !== undefined) {
    report([...path, "allowed_roles"], "has no effect without role_from_claim");
  }
  checkRoles(roles, [...path, "allowed_roles"], report);
  if (isMap(session_settings)) checkTemplates(session_settings, [...path, "session_settings"], report);
}

/** The faults of claims in a header, and of settings that would keep them from the policies. */
export function checkIdentity(
  tree: ValueMap,
  report: (path: SettingPath, message: string) => void,
): void {
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
  const setting = String(valueAt(identity, ["claims_setting"]) ?? "request.jwt.claims").toLowerCase();
  for (const [index, pipeline] of listOf(pipelines).entries()) {
    const own = valueAt(pipeline, ["session_settings"]);
    const taken = Object.keys(isMap(own) ? own : {}).find((name) => name.toLowerCase() === setting);
    if (taken === undefined) continue;
    report(
      ["pipelines", index, "session_settings", taken],
      "cannot be set here: identity.claims_setting sets it",
    );
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function checkRoles(
  roles: readonly unknown[],
  path: SettingPath,
  report: (path: SettingPath, message: string) => void,
): void {
  for (const [index, role] of roles.entries()) {
    if (role === "none" || Buffer.byteLength(String(role)) > longestRoleBytes) {
      report([...path, index], `expected a role's name: at most ${longestRoleBytes} bytes, not none`);
    }
  }
}

function checkTemplates(
  settings: ValueMap,
  path: SettingPath,
  report: (path: SettingPath, message: string) => void,
): void {
  for (const [name, template] of Object.entries(settings)) {
    if (name.toLowerCase() === "role" || name.toLowerCase() === "session_authorization") {
      report([...path, name], "cannot be set here: use role_from_user or role_from_claim");
    }
    if (Object.hasOwn(guardedSettings, name.toLowerCase())) {
      report([...path, name], "cannot be set here: the statement guard needs the value that Postern sets");
    }
    // what is no placeholder would reach the policies as it stands
    const written = typeof template === "string" ? template.match(/\{claim[^{}]*\}?/g) ?? [] : [];
    const wrong = written.find((each) => !/^\{(?:claims|claim:[^{}]+)\}$/.test(each));
    if (wrong !== undefined) {
      report([...path, name], `${wrong}: expected {claim:NAME}, {claims} or {username}`);
    }
  }
}
