import type { DatabaseOptions } from "../../../postgres/database_options.ts";

/** Where a database is, in the words of pgEdge's server, which shows it to those who may use the database. */
export interface DatabaseAddress {
  readonly host: string;
  readonly port: number;
  /** Where there are several. */
  readonly hosts?: readonly { readonly host: string; readonly port: number }[];
  readonly target_session_attrs?: string;
  readonly database: string;
  readonly user: string;
  readonly sslmode: string;
}

export function addressOf(options: DatabaseOptions): DatabaseAddress {
  const { hosts, targetSessionAttrs, database, user, sslMode: sslmode, openStream } = options;
  if (openStream !== undefined) return { host: "embedded", port: 0, database, user, sslmode };
  const first = hosts[0] ?? { host: "", port: 0 };
  return {
    ...first,
    ...(hosts.length > 1 && { hosts, target_session_attrs: targetSessionAttrs }),
    database,
    user,
    sslmode,
  };
}
