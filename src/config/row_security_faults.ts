import { Buffer } from "node:buffer";
import { isMap, type SettingPath, type ValueMap } from "../core/document/value_tree.ts";

/** NAMEDATALEN - 1: PostgreSQL cuts off what is longer. */
const longestRoleBytes = 63;

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
  for (const [index, role] of roles.entries()) {
    if (role === "none" || Buffer.byteLength(String(role)) > longestRoleBytes) {
      report(
        [...path, "allowed_roles", index],
        `expected a role's name: at most ${longestRoleBytes} bytes, not none`,
      );
    }
  }
  if (isMap(session_settings)) checkTemplates(session_settings, [...path, "session_settings"], report);
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
    // what is no placeholder would reach the policies as it stands
    const written = typeof template === "string" ? template.match(/\{claim[^{}]*\}?/g) ?? [] : [];
    const wrong = written.find((each) => !/^\{(?:claims|claim:[^{}]+)\}$/.test(each));
    if (wrong !== undefined) {
      report([...path, name], `${wrong}: expected {claim:NAME}, {claims} or {username}`);
    }
  }
}
