/** PostgreSQL's six values, with libpq's meaning (PostgreSQL manual, "SSL Support", table "SSL Mode Descriptions"). */
export const sslModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;

export type SslMode = (typeof sslModes)[number];

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
