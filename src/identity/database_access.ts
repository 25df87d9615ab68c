import type { Principal } from "../core/principal.ts";

/** The part of a configured database that decides who may use it. */
export interface DatabaseAccess {
  readonly name: string;
  /** Usernames; an empty list opens the database to every user and to every token that is not bound. */
  readonly available_to_users: readonly string[];
}

/** The databases that a principal may use, in the order given; the first is the one they start with. */
export function accessibleDatabases<T extends DatabaseAccess>(
  principal: Principal,
  databases: readonly T[],
): T[] {
  return databases.filter((database) => mayUse(principal, database));
}

function mayUse(principal: Principal, database: DatabaseAccess): boolean {
  const { name, available_to_users: users } = database;
  switch (principal.kind) {
    case "local":
      return true;
    case "session":
      return users.length === 0 || users.includes(principal.username);
    case "token":
      return principal.database === undefined ? users.length === 0 : principal.database === name;
  }
}
