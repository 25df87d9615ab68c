import type { Config } from "../../config/mod.ts";

/**
 * One warning for each user of `console.administrators` without an account. A user file that cannot be read has faults of
 * its own: nothing is said of its users.
 */
export async function administratorWarnings({ console, http, server }: Config): Promise<string[]> {
  const { enabled, user_file: path } = (http.enabled ? http : server).auth;
  const users = console.administrators.filter((name) => !name.startsWith("group:"));
  if (users.length === 0 || !enabled) return [];
  const { readUserFile } = await import("../../identity/users/user_file.ts");
  const accounts = await readUserFile(path).then(({ records }) => records, () => undefined);
  return users.filter((user) => accounts?.every(({ username }) => username !== user)).map((user) =>
    `console.administrators names ${JSON.stringify(user)}, who has no account in ${path}: -add-user makes one`
  );
}
