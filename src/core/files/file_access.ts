import { shellWord } from "../own_command.ts";

interface PrivacyOptions {
  /**
   * The group of a file that belongs to root may read it: so Kubernetes mounts a secret for a service, and so Debian's
   * group `ssl-cert` gets at keys. For secrets that others put there; PostgreSQL's clients take such keys too.
   */
  readonly rootMayShareWithGroup?: boolean;
}

/**
 * Whether anybody but its owner may do anything with a file, by its mode; false where the system has no modes.
 * PostgreSQL asks the same of password files and keys (manual, "The Password File", "Client Certificates").
 */
export function isOpenToOthers(
  { mode, uid }: Pick<Deno.FileInfo, "mode" | "uid">,
  { rootMayShareWithGroup = false }: PrivacyOptions = {},
): boolean {
  if (mode === null) return false;
  const refused = rootMayShareWithGroup && uid === 0 ? 0o037 : 0o077;
  return (mode & refused) !== 0;
}

/** That others may use a file, and the shell command that mends it. Undefined where they may not, or there is no file. */
export async function findOpenFile(
  path: string,
  options: PrivacyOptions = {},
): Promise<{ readonly fault: string; readonly remedy: string } | undefined> {
  const info = await Deno.stat(path).catch(() => undefined);
  if (info === undefined || !isOpenToOthers(info, options)) return undefined;
  const mode = ((info.mode ?? 0) & 0o777).toString(8).padStart(4, "0");
  return {
    fault: `Other users of this machine can access ${path} (mode ${mode})`,
    remedy: `chmod 600 ${shellWord(path)}`,
  };
}

/** As findOpenFile(), in one line for the log. */
export async function openFileWarning(
  path: string,
  options: PrivacyOptions = {},
): Promise<string | undefined> {
  const open = await findOpenFile(path, options);
  return open && `${open.fault}; run: ${open.remedy}`;
}

/**
 * Gives a new file to the user and group of another, where their users differ: an administrator's command makes it as
 * root, and a server under an account of its own must be able to go on with it.
 *
 * @param options.keepGroup also where only the groups differ
 * @throws the runtime's error: `NotFound` where one does not exist, another where this process may not do it
 */
export async function giveToOwnerOf(
  path: string,
  other: string,
  { keepGroup = false }: { keepGroup?: boolean } = {},
): Promise<void> {
  const [made, { uid, gid }] = await Promise.all([Deno.stat(path), Deno.stat(other)]);
  if (made.uid === uid && (made.gid === gid || !keepGroup)) return;
  await Deno.chown(path, uid, gid);
}
