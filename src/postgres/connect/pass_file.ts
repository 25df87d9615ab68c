import { AppError } from "../../core/app_error.ts";
import { isOpenToOthers } from "../../core/files/file_access.ts";
import { requireRegular } from "../../core/files/read_regular_file.ts";
import type { Logger } from "../../core/logger.ts";

/** What a line of a password file is matched against. */
export interface PassFileQuery {
  /** A name, an address, or the folder of a Unix socket, which a line for `localhost` matches too. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
}

/**
 * Looks a password up in a file of lines `host:port:database:user:password` (PostgreSQL manual, "The Password File").
 * The first line that matches counts. A file that does not exist has no password; one that its group or others can
 * read, or that is no plain file, is ignored with a warning.
 */
export async function findPassword(
  path: string,
  query: PassFileQuery,
  logger: Logger,
): Promise<string | undefined> {
  let text: string;
  try {
    const info = await Deno.stat(path);
    requireRegular(info, "read", path);
    if (isOpenToOthers(info)) {
      logger.warn(`password file ignored: others can read it; run chmod 0600 ${path}`, { path });
      return undefined;
    }
    text = await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof AppError) {
      logger.warn("password file ignored: it is not a plain file", { path });
    } else if (!(error instanceof Deno.errors.NotFound)) {
      logger.warn("password file ignored: it cannot be read", { path, error });
    }
    return undefined;
  }
  return passwordIn(text, query);
}

/** The password of the first line that matches. */
export function passwordIn(text: string, query: PassFileQuery): string | undefined {
  const hosts = query.host.startsWith("/") ? [query.host, "localhost"] : [query.host];
  for (const line of text.split(/\r?\n/)) {
    if (line === "" || line.startsWith("#")) continue;
    const [host, port, database, user, password] = splitLine(line);
    if (password === undefined) continue;
    const matches = hosts.some((candidate) => matchesField(host, candidate)) &&
      matchesField(port, String(query.port)) && matchesField(database, query.database) &&
      matchesField(user, query.user);
    if (matches) return password.value;
  }
  return undefined;
}

interface Field {
  readonly value: string;
  /** Written as a bare `*`; `\*` is the character. */
  readonly isWildcard: boolean;
}

function matchesField(field: Field | undefined, value: string): boolean {
  return field !== undefined && (field.isWildcard || field.value === value);
}

// a backslash takes the next character literally; an unescaped colon ends a field, the password's too
function splitLine(line: string): Field[] {
  return [...`:${line}`.matchAll(/:((?:\\.|[^:\\]|\\$)*)/gs)].map(([, raw = ""]) => ({
    value: raw.replace(/\\(.)/gs, "$1"),
    isWildcard: raw === "*",
  }));
}
