import { shellWord } from "../shell_word.ts";

export interface PrivacyOptions {
  /**
   * The group of a file that belongs to root may read it: so Kubernetes mounts a secret for a service, and so Debian's
   * group `ssl-cert` gets at keys. For secrets that others put there; PostgreSQL's clients take such keys too.
   */
  readonly rootMayShareWithGroup?: boolean;
}

/**
 * Whether others than its owner may do anything with a file, by its mode; never so where the system has no modes. What
 * PostgreSQL asks of password files and keys (manual, "The Password File", "Client Certificates").
 */
export function isOpenToOthers(
  { mode, uid }: Pick<Deno.FileInfo, "mode" | "uid">,
  { rootMayShareWithGroup = false }: PrivacyOptions = {},
): boolean {
  if (mode === null) return false;
  const refused = rootMayShareWithGroup && uid === 0 ? 0o037 : 0o077;
  return (mode & refused) !== 0;
}

/** What is wrong with who may use a file. */
export interface OpenFile {
  readonly finding: string;
  /** The shell command that mends it. */
  readonly remedy: string;
}

/** Undefined for a file that is its owner's alone, and where there is none. */
export async function findOpenFile(
  path: string,
  options: PrivacyOptions = {},
): Promise<OpenFile | undefined> {
  const info = await Deno.stat(path).catch(() => undefined);
  if (info === undefined || !isOpenToOthers(info, options)) return undefined;
  const mode = ((info.mode ?? 0) & 0o777).toString(8).padStart(4, "0");
  return {
    finding: `Other users of this machine can access ${path} (mode ${mode})`,
    remedy: `chmod 600 ${shellWord(path)}`,
  };
}

/** As findOpenFile(), in one line for the log. */
export async function openFileWarning(
  path: string,
  options: PrivacyOptions = {},
): Promise<string | undefined> {
  const open = await findOpenFile(path, options);
  return open && `${open.finding}; run: ${open.remedy}`;
}
