import { AppError } from "../../core/app_error.ts";
import { parseClaims } from "../../core/claims.ts";
import { readClientMetadata } from "./client_metadata.ts";
import { readScopes } from "../own_scopes.ts";
import type { GrantStore } from "./grant_store.ts";

/** Below this server: where an issuer elsewhere sends browsers back to, and where it tells of logouts. */
export const issuerPaths = { callback: "/oauth/login/callback", logout: "/oauth/login/logout" } as const;

/** Carries the code that a link to the device page brought. */
export const codeParameter = "prefill";

/** What a token is asked for with. */
const grantedBy = [
  ["code", "AuthorizationCode"],
  ["refresh_token", "RefreshToken"],
  ["device_code", "DeviceCode"],
] as const;

/** What the provider gets in place of a registration. @throws {AppError} `invalid`, as `readClientMetadata` */
export function readRegistration(body: string, isAllowed: (uri: string) => boolean): string {
  const fields = parseClaims(body);
  if (fields === undefined) throw new AppError("invalid", "expected a JSON object that has no name twice");
  const { client_id: _none, ...client } = readClientMetadata("", fields, isAllowed, "refuse");
  return JSON.stringify(client);
}

/**
 * What the provider gets in place of a request's parameters: scopes that Postern knows, or all where it knows none
 * (RFC 6749, section 3.3), and the answer stands in the query alone.
 */
export function rewriteParameters(path: string, params: URLSearchParams): URLSearchParams {
  if (path === "/oauth/token") params.delete("scope");
  else if (path === "/oauth/authorize" || path === "/oauth/device") {
    params.set("scope", readScopes(params.get("scope")).join(" "));
  }
  if (params.get("response_mode") !== "query") params.delete("response_mode");
  const code = params.get("user_code");
  if (path === "/oauth/device/verify" && code !== null) params.set(codeParameter, code);
  return params;
}

/** Puts the resource that was granted, as it was named then, in place of the one that is asked for; whether there is one. */
export async function nameGranted<Resource>(
  params: URLSearchParams,
  { ours, store }: {
    readonly ours: (address: string) => Resource | undefined;
    readonly store: Pick<GrantStore, "find">;
  },
): Promise<boolean> {
  const asked = params.getAll("resource").filter((each) => each !== "");
  params.delete("resource");
  const [wanted] = asked.map(ours);
  if (asked.length === 0) return true;
  if (asked.length > 1 || wanted === undefined) return false;
  const resources = await Promise.all(grantedBy.map(async ([parameter, kind]) => {
    const given = params.get(parameter);
    const resource = given === null ? undefined : (await store.find(kind, given))?.["resource"];
    return resource === undefined ? [] : [resource].flat().map(String);
  }));
  const granted = resources.flat();
  const named = granted.find((each) => ours(each) === wanted);
  if (named !== undefined) params.set("resource", named);
  // what nobody knows is refused as such
  return named !== undefined || granted.length === 0;
}
