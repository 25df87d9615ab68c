import { X509Certificate } from "node:crypto";
import { AppError } from "../../core/app_error.ts";
import { findOpenFile } from "../../core/files/file_access.ts";
import { readRegularFile } from "../../core/files/read_regular_file.ts";
import { type Check, type CheckResult, error, note, warning } from "./check.ts";
import { shellWord } from "../../core/own_command.ts";

/** What a file holds that nobody else should read. */
type SecretKind = "key" | "password" | "secret";

/** Whether a file holds a secret, and only for this user. */
export function secretFileCheck(path: string, kind: SecretKind): Check {
  return { name: `${kind} file ${path}`, looksAt: "files", run: () => lookAtSecretFile(path, kind) };
}

async function lookAtSecretFile(path: string, kind: SecretKind): Promise<CheckResult[]> {
  const write = `(umask 077; printf %s '${kind.toUpperCase()}' > ${shellWord(path)})`;
  try {
    if ((await readRegularFile(path)).trim() === "") return [error(`${path} is empty`, write)];
    const open = await findOpenFile(path, { rootMayShareWithGroup: true });
    return open === undefined ? [] : [warning(open.fault, open.remedy)];
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotFound) return [error(`There is no file ${path}`, write)];
    return [unreadable(thrown, path, `-- Name the file that holds the ${kind}`)];
  }
}

function unreadable(thrown: unknown, path: string, remedy: string): CheckResult {
  if (thrown instanceof AppError) return error(`${path} is not a file`, remedy);
  if (thrown instanceof Deno.errors.PermissionDenied) {
    return error(`This user may not read ${path}`, `sudo chown "$(id -un)" ${shellWord(path)}`);
  }
  throw thrown;
}

/** A file that a server opens, and how it tells that it cannot. */
export interface ServerFile {
  /** As in `token file`. */
  readonly what: string;
  readonly path: string;
  /**
   * Looks at what is in it; a file that does not exist yet is fine to some.
   *
   * @throws {AppError} where the server could not use it
   */
  readonly read: () => Promise<unknown>;
  /** Whether it is a certificate: then its end is told too. */
  readonly isCertificate?: boolean;
  /** Whether others may read it. */
  readonly isPublic?: boolean;
}

/** What an error tells, each fault by itself. */
export function linesOf({ message, data }: AppError): string[] {
  const lines = data?.["lines"];
  return Array.isArray(lines) ? lines : [message];
}

/** Whether a server can use a file, and nobody else. */
export function serverFileCheck(
  { what, path, read, isCertificate = false, isPublic = false }: ServerFile,
  now: () => number,
): Check {
  return {
    name: `${what} ${path}`,
    looksAt: "files",
    async run() {
      try {
        await read();
      } catch (thrown) {
        if (!(thrown instanceof AppError)) throw thrown;
        return linesOf(thrown).map((line) =>
          error(line, "-- Correct the file, or the setting that names it")
        );
      }
      if (isCertificate) {
        const { validTo } = new X509Certificate(await readRegularFile(path));
        return expiryResults("It", Date.parse(validTo), now());
      }
      const exists = await Deno.stat(path).then(() => true, () => false);
      if (!exists) return [note("not there yet")];
      const open = isPublic ? undefined : await findOpenFile(path);
      return open === undefined ? [] : [warning(open.fault, open.remedy)];
    },
  };
}

const soonMs = 30 * 86_400_000;

/**
 * What there is to say of a certificate's end.
 *
 * @param what begins a sentence
 */
export function expiryResults(what: string, expiresAt: number, now: number): CheckResult[] {
  const day = new Date(expiresAt).toISOString().slice(0, 10);
  const remedy = "-- Renew it, and have the file replaced: Postern reads it again";
  if (expiresAt < now) return [error(`${what} expired on ${day}`, remedy)];
  return expiresAt - now < soonMs
    ? [warning(`${what} expires on ${day}`, remedy)]
    : [note(`${what} is valid until ${day}`)];
}
