import type { TargetSessionAttrs } from "../connection_kinds.ts";
import type { pg } from "../connection.ts";

/** What one pass over the hosts looks for. */
export type SessionKind = Exclude<TargetSessionAttrs, "prefer-standby">;

/** What a session of another kind is refused for. */
export const sessionMismatch: Readonly<Record<SessionKind, string>> = {
  "any": "its sessions do not work",
  "read-write": "its sessions are read-only",
  "read-only": "its sessions are not read-only",
  "primary": "it is a standby",
  "standby": "it is not a standby",
};

/** The passes over the hosts that libpq makes for a value; the first host that satisfies one is taken. */
export function sessionPasses(wanted: TargetSessionAttrs): readonly SessionKind[] {
  return wanted === "prefer-standby" ? ["standby", "any"] : [wanted];
}

/** Whether a new session is of the kind wanted; asks the server only where that matters. */
export async function isSessionOfKind(client: pg.Client, wanted: SessionKind): Promise<boolean> {
  if (wanted === "any") return true;
  const { rows } = await client.query<[string, string]>({
    text: "SELECT pg_catalog.current_setting('transaction_read_only'), pg_catalog.pg_is_in_recovery()::text",
    rowMode: "array",
  });
  const isReadOnly = rows[0]?.[0] === "on";
  const isStandby = rows[0]?.[1] === "true";
  switch (wanted) {
    case "read-write":
      return !isReadOnly;
    case "read-only":
      return isReadOnly;
    case "primary":
      return !isStandby;
    case "standby":
      return isStandby;
  }
}
