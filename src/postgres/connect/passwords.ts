import { AppError } from "../../core/app_error.ts";
import { isOpenToOthers } from "../../core/files/file_access.ts";
import { readAtMost, requireRegular } from "../../core/files/read_regular_file.ts";
import type { Logger } from "../../core/logger.ts";
import type { DatabaseHost, DatabaseOptions } from "../database_options.ts";

type PasswordOptions = Pick<
  DatabaseOptions,
  "name" | "user" | "database" | "password" | "passwordIssuer" | "passwordFile" | "passFile"
>;

/** The server asked for a password that nobody configured. */
export class PasswordMissing extends Error {
  override readonly name = "PasswordMissing";
  constructor(user: string) {
    super(
      `the server asks for a password, and none is set for role "${user}": set password_file or PGPASSWORD, or write a ` +
        "line into ~/.pgpass",
    );
  }
}

/**
 * What a host is given that asks for a password: the options' own, else what their `passwordIssuer` gives out, else what
 * their `passwordFile` holds, else that of
 * the line in their `passFile` which matches the host. As in libpq, an empty password is none. The `passwordFile` is read
 * at once, even where no server asks for a password: it should be there.
 *
 * @returns a function that throws PasswordMissing where there is none
 * @throws {AppError} `unavailable` where the `passwordFile` cannot be used
 */
export async function readPasswords(
  options: PasswordOptions,
  logger: Logger,
): Promise<(host: DatabaseHost) => Promise<string>> {
  const { name, user, password, passwordIssuer, passwordFile, passFile } = options;
  if (password !== undefined && password !== "") return () => Promise.resolve(password);
  if (passwordIssuer !== undefined) {
    const { issuedPasswords } = await import("./issued_passwords.ts");
    return await issuedPasswords(passwordIssuer, { name, user });
  }
  if (passwordFile !== undefined) {
    const held = await readPasswordFile(passwordFile, name);
    return () => Promise.resolve(held);
  }
  return async (host) => {
    const text = passFile === undefined ? "" : await readPassFile(passFile, logger);
    const found = passwordIn(text, host, options);
    if (found === undefined || found === "") throw new PasswordMissing(user);
    return found;
  };
}

const maxLength = 10_000;
/** Room for the longest in UTF-8, and for line ends. */
const maxFileBytes = 4 * maxLength;

/**
 * The password that a file of its own holds, as a mounted secret does, without the line ends after it. The error names
 * the database, the setting and, in `cause`, the file.
 */
async function readPasswordFile(path: string, databaseName: string): Promise<string> {
  const unusable = (reason: string) =>
    new AppError("unavailable", `Cannot reach database "${databaseName}": password_file: ${reason}`, {
      cause: new Error(`${path}: ${reason}`),
    });
  const bytes = await readAtMost(path, maxFileBytes).catch((error) => {
    throw unusable(reasonOf(error));
  });
  const password = new TextDecoder().decode(bytes).replace(/[\r\n]+$/, "");
  if (bytes !== undefined && password === "") throw unusable("the file is empty");
  if (bytes === undefined || /[\r\n\0]/.test(password) || password.length > maxLength) {
    throw unusable("expected one line that holds the password");
  }
  return password;
}

function reasonOf(error: unknown): string {
  if (error instanceof AppError) return "it is not a regular file";
  if (error instanceof Deno.errors.NotFound) return "there is no such file";
  if (error instanceof Deno.errors.PermissionDenied) return "no permission to read the file";
  return "the file cannot be read";
}

/**
 * The text of a file in the format of `.pgpass`. Empty for one that does not exist, and, with a warning, for one that
 * its group or others can read, or that is no plain file.
 */
async function readPassFile(path: string, logger: Logger): Promise<string> {
  try {
    const info = await Deno.stat(path);
    requireRegular(info, "read", path);
    if (!isOpenToOthers(info)) return await Deno.readTextFile(path);
    logger.warn(`password file ignored: others can read it; run chmod 0600 ${path}`, { path });
  } catch (error) {
    if (error instanceof AppError) logger.warn("password file ignored: it is not a plain file", { path });
    else if (!(error instanceof Deno.errors.NotFound)) {
      logger.warn("password file ignored: it cannot be read", { path, error });
    }
  }
  return "";
}

/**
 * The password of the first line `host:port:database:user:password` that matches (PostgreSQL manual, "The Password
 * File"). A line for `localhost` matches the folder of a Unix socket too.
 */
function passwordIn(
  text: string,
  { host, port }: DatabaseHost,
  { database, user }: PasswordOptions,
): string | undefined {
  const hosts = host.startsWith("/") ? [host, "localhost"] : [host];
  for (const line of text.split(/\r?\n/)) {
    if (line === "" || line.startsWith("#")) continue;
    const [lineHost, linePort, lineDatabase, lineUser, password] = splitLine(line);
    if (password === undefined) continue;
    const matches = hosts.some((candidate) => matchesField(lineHost, candidate)) &&
      matchesField(linePort, String(port)) && matchesField(lineDatabase, database) &&
      matchesField(lineUser, user);
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
