import { z } from "@hono/zod-openapi";
import type { SharedDeadline } from "../../core/async/deadline.ts";
import { readBody } from "../../http/request_body.ts";
import { formatTimestamp } from "../../identity/credentials/timestamp.ts";
import type { LogoutReport } from "../../identity/authentication.ts";
import type { Login } from "../../identity/login.ts";
import { faultText, parseBody } from "../query.ts";
import { jsonReply, noContent } from "./json_reply.ts";
import { bodyError, errorReply, loginError, type RagError } from "./rag_errors.ts";
import { type Principal, sessionIdOf } from "../../core/principal.ts";
import { parseUnambiguous } from "../../core/claims.ts";

export const loginRequest = z.object({
  username: z.string({ error: "expected a text" }).openapi({ example: "alice" }),
  password: z.string({ error: "expected a text" }).describe("In UTF-8, as it was set"),
}, { error: "expected a JSON object" }).openapi("LoginRequest");

export const loginReply = z.object({
  session_token: z.string().openapi({
    description: "For the header Authorization: Bearer TOKEN",
    example: "b3BlbiBzZXNhbWUgb3BlbiBzZXNhbWUgb3BlbiBzZXM=",
  }),
  expires_at: z.string().openapi({ description: "ISO 8601, UTC", example: "2026-01-16T08:30:00Z" }),
}).openapi("LoginResponse");

/** Of who has not shown a token yet. */
const maxBytes = 64 * 1024;

/** `POST /v1/login`: a session for a username and a password, under the limits of `authenticate_user`. */
export function createLoginEndpoint({ login, bodyTimeout }: {
  readonly login: Login;
  /** How long a body may take to arrive. */
  readonly bodyTimeout: SharedDeadline;
}) {
  return async (
    request: Request,
    caller: { readonly address: string; readonly requestId: string },
  ): Promise<Response> => {
    const body = await readBody(request, { maxBytes, timeout: bodyTimeout });
    if (body.kind !== "text") return errorReply(bodyError(body.kind, "64 KiB"));
    const read = readCredentials(body.text);
    if ("error" in read) return errorReply(read.error);
    try {
      const { signal } = request;
      const result = await login.authenticate({ ...read.credentials, ...caller, signal });
      if (result.kind !== "success") return errorReply(loginError(result));
      const { sessionToken: session_token, expiresAt } = result;
      const reply: z.output<typeof loginReply> = { session_token, expires_at: formatTimestamp(expiresAt) };
      return jsonReply(JSON.stringify(reply));
    } catch (error) {
      if (!request.signal.aborted) throw error;
      // nobody receives it
      return new Response(null, { status: 499 });
    }
  };
}

function readCredentials(
  text: string,
): { readonly credentials: z.output<typeof loginRequest> } | { readonly error: RagError } {
  const parsed = parseBody(text, parseUnambiguous, "JSON that has no name twice");
  const { data, error } = loginRequest.safeParse(parsed.kind === "json" ? parsed.body : undefined);
  if (data !== undefined) return { credentials: data };
  const message = parsed.kind === "fault" ? parsed.message : faultText(error.issues);
  return { error: { code: "INVALID_REQUEST", message } };
}

export const notASession: RagError = {
  code: "INVALID_REQUEST",
  message: "the token: expected that of a user's session; an API token is removed by an administrator",
};

/** `POST /v1/logout`: ends the session that asks for it, as the tool `logout` does. */
export function createLogoutEndpoint({ endSession, onLogout }: {
  readonly endSession: (id: string) => Promise<void>;
  readonly onLogout?: ((report: LogoutReport) => Promise<unknown>) | undefined;
}) {
  return async (session: Principal, from: Omit<LogoutReport, "session">): Promise<Response> => {
    const id = sessionIdOf(session);
    if (id === undefined) return errorReply(notASession);
    await endSession(id);
    await onLogout?.({ session, ...from });
    return noContent();
  };
}
