/**
 * Gives a new file to the user and group of another, where their users differ: what an administrator's command makes as
 * root, a server under an account of its own must be able to go on with.
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
