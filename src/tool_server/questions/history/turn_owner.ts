import type { Principal } from "../../../core/principal.ts";

/** Whose turns a call's are: a user's over all sessions, a token's, or those of the one local caller. */
export function turnOwner(principal: Principal): string {
  switch (principal.kind) {
    case "local":
      return "local";
    case "token":
      return `token:${principal.id}`;
    case "session":
      return `user:${principal.username}${
        principal.accountSince === undefined ? "" : `@${principal.accountSince}`
      }`;
  }
}
