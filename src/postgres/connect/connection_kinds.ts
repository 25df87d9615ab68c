/** PostgreSQL's six values, with libpq's meaning (PostgreSQL manual, "SSL Support", table "SSL Mode Descriptions"). */
export const sslModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;

export type SslMode = (typeof sslModes)[number];

/** How one connection attempt treats TLS; `preferred` goes on in plain text where the server has no TLS. */
export type Encryption = "none" | "preferred" | "required";

/** What of the server's certificate is checked. */
export type Verification = "nothing" | "chain" | "chain and name";

interface EncryptionPlan {
  readonly first: Encryption;
  /** A second attempt at the same server, after an error that libpq answers with one. */
  readonly retry?: Encryption;
}

const encryptionPlans: Readonly<Record<SslMode, EncryptionPlan>> = {
  "disable": { first: "none" },
  "allow": { first: "none", retry: "required" },
  "prefer": { first: "preferred", retry: "none" },
  "require": { first: "required" },
  "verify-ca": { first: "required" },
  "verify-full": { first: "required" },
};

/** The attempts that libpq makes for a mode; over a Unix socket it never uses TLS. */
export function encryptionPlan(mode: SslMode, overUnixSocket: boolean): EncryptionPlan {
  return encryptionPlans[overUnixSocket ? "disable" : mode];
}

/**
 * What libpq checks for a mode. A root certificate file that exists makes it check the chain in the weaker modes too
 * (PostgreSQL manual, "Client Verification of Server Certificates").
 */
export function verificationFor(mode: SslMode, hasRootCertificate: boolean): Verification {
  if (mode === "verify-full") return "chain and name";
  return mode === "verify-ca" || hasRootCertificate ? "chain" : "nothing";
}

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
  return {
    "any": undefined,
    "read-write": isReadOnly ? "its sessions are read-only" : undefined,
    "read-only": isReadOnly ? undefined : "its sessions are not read-only",
    "primary": isStandby ? "it is a standby" : undefined,
    "standby": isStandby ? undefined : "it is not a standby",
  }[wanted];
}
