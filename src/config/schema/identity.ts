import type { Fault } from "../fault.ts";
import { addressBlock, choice, headerName, list, section, settingName, text, toggle } from "./field_types.ts";
import { formatPath, isMap, valueAt, type ValueMap } from "../../core/yaml/value_tree.ts";
import { type PlaceOf, settingAt } from "../../core/yaml/file_fault.ts";

/** Claims in a header of a trusted proxy's, which decide what rows the RAG server's callers read. */
export const identity = section({
  enabled: toggle().prefault(false).describe(
    "Have each question to the RAG server carry its caller's claims in a header; row-level security decides by them",
  ),
  claims_header: headerName().prefault("X-Forwarded-Claims").describe(
    "Header in which the proxy gives the caller's claims, as a JSON object of at most 8 KiB; -: none",
  ),
  subject_header: headerName().prefault("X-Forwarded-User").describe(
    "Header that names the caller where there are no claims; -: none",
  ),
  claims_setting: settingName().prefault("request.jwt.claims").describe(
    "PostgreSQL setting that the claims go to, byte for byte",
  ),
  subject_claim: text().prefault("sub").describe(
    "Claim that names the caller, unique over all tenants: limits and the audit trail go by it",
  ),
  role_claim: text().prefault("role").describe(
    "Claim that may name a PostgreSQL role to run a question's statements under; -: none",
  ),
  allowed_roles: list(text()).prefault([]).describe("Roles that role_claim may name"),
  trusted_proxies: list(addressBlock()).prefault([]).describe(
    "Proxies whose headers count: addresses or CIDR blocks; required where enabled",
  ),
  enforcement_check: choice("error", "warn", "off").prefault("error").describe(
    "warn and off have no effect: a pipeline whose row-level security does not hold every caller does not serve",
  ),
});

/** The value of `claims_header`, `subject_header` and `role_claim` for none. */
export const noName = "-";

/**
 * The fault of a section that does not plainly say whether rows are filtered by who asks, where an empty value would be
 * taken for one that is left out: served without the section, everyone would read all of them.
 */
export function unclearIdentityFaults(tree: ValueMap, place: PlaceOf): Fault[] {
  const section = tree["identity"];
  const path = isMap(section) ? ["identity", "enabled"] : ["identity"];
  const value = valueAt(tree, path);
  const isEmpty = value === "" || (Array.isArray(value) && value.length === 0) ||
    (path.length > 1 && isMap(value) && Object.keys(value).length === 0);
  const expected = path.length > 1 ? "expected true or false" : "expected a mapping";
  return isEmpty ? [{ path: formatPath(path), ...place(path), message: expected }] : [];
}

/** Warnings for a check that cannot be loosened, and for a header that clients may send where the proxy sends another. */
export function identityWarnings(tree: ValueMap, place: PlaceOf): string[] {
  return [...looseCheckWarnings(tree, place), ...openHeaderWarnings(tree, place)];
}

function openHeaderWarnings({ identity }: ValueMap, place: PlaceOf): string[] {
  const subjectHeader = valueAt(identity, ["subject_header"]);
  const isAlone = valueAt(identity, ["enabled"]) === true && subjectHeader !== undefined &&
    subjectHeader !== noName && valueAt(identity, ["claims_header"]) === undefined;
  if (!isAlone) return [];
  return [
    `${
      settingAt(["identity", "subject_header"], place)
    }: claims in X-Forwarded-Claims count before this header: ` +
    "have the proxy take away what clients send there, or set claims_header: - to read none",
  ];
}

function looseCheckWarnings(tree: ValueMap, place: PlaceOf): string[] {
  const path = ["identity", "enforcement_check"];
  const value = valueAt(tree, path);
  if (value !== "warn" && value !== "off") return [];
  return [
    `${
      settingAt(path, place)
    }: ${value} has no effect: row-level security is always proven, and a pipeline where it ` +
    "does not hold every caller does not serve",
  ];
}
