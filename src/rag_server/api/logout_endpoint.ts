import type { Principal } from "../../core/principal.ts";
import { noContent } from "./json_reply.ts";
import { errorReply, type RagError } from "./rag_errors.ts";

/** A session that its user ended. */
export interface LogoutReport {
  readonly session: Extract<Principal, { kind: "session" }>;
  /** The client's. */
  readonly address: string;
  readonly requestId: string;
}

export const notASession: RagError = {
  code: "INVALID_REQUEST",
  message: "the token: expected that of a user's session; an API token is removed by an administrator",
};

/** `POST /v1/logout`: ends the session that asks for it, as the tool `logout` does. */
export function createLogoutEndpoint({ endSession, onLogout }: {
  readonly endSession: (id: string) => void;
  readonly onLogout?: ((report: LogoutReport) => Promise<unknown>) | undefined;
}): (
  caller: { readonly principal: Principal; readonly address: string; readonly requestId: string },
) => Promise<Response> {
  return async ({ principal, address, requestId }) => {
    if (principal.kind !== "session") return errorReply(notASession);
    endSession(principal.id);
    await onLogout?.({ session: principal, address, requestId });
    return noContent();
  };
}
