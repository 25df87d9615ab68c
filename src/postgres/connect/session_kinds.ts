/** libpq's `target_session_attrs`. */
export const targetSessionAttrs = [
  "any",
  "read-write",
  "read-only",
  "primary",
  "standby",
  "prefer-standby",
] as const;

export type TargetSessionAttrs = (typeof targetSessionAttrs)[number];

/** What one pass over the hosts looks for. */
export type SessionKind = Exclude<TargetSessionAttrs, "prefer-standby">;

/** The passes over the hosts that libpq makes for a value; the first host that satisfies one is taken. */
export function sessionPasses(wanted: TargetSessionAttrs): readonly SessionKind[] {
  return wanted === "prefer-standby" ? ["standby", "any"] : [wanted];
}

/** Why a new session is not of the kind wanted; undefined where it is. */
export function sessionMismatch(
  { isReadOnly, isStandby }: { readonly isReadOnly: boolean; readonly isStandby: boolean },
  wanted: SessionKind,
): string | undefined {
  switch (wanted) {
    case "any":
      return undefined;
    case "read-write":
      return isReadOnly ? "its sessions are read-only" : undefined;
    case "read-only":
      return isReadOnly ? undefined : "its sessions are not read-only";
    case "primary":
      return isStandby ? "it is a standby" : undefined;
    case "standby":
      return isStandby ? undefined : "it is not a standby";
  }
}
