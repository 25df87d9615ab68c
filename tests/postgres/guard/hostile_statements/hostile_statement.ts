/** A statement that must not do what it tries to. */
export interface HostileStatement {
  readonly name: string;
  readonly sql: string;
  /** A part of the reason that the caller is given; any reason where it is absent. */
  readonly refusedWith?: string;
  /** It may run, or fail in the server: its harm is bounded there, and the proofs after it show that. */
  readonly mayRun?: true;
  /** The first major version whose grammar takes it. */
  readonly since?: number;
}

/** Statements that are their own names. */
export function named(statements: readonly string[], refusedWith?: string): HostileStatement[] {
  return statements.map((sql) => ({ name: sql, sql, ...(refusedWith !== undefined && { refusedWith }) }));
}
