import type { GrantCaller } from "../../../src/identity/authenticator.ts";

/** The id of the grant that a caller's token is of. */
export function grantOf(caller: GrantCaller | undefined): string | undefined {
  return caller && ("kind" in caller ? caller.grantId : caller.id);
}
