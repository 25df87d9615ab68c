/**
 * Gives a new file to the owner of another, as far as one may: what an administrator's command makes as root, a server under
 * an account of its own must be able to go on with.
 */
export async function giveToOwnerOf(path: string, other: string): Promise<void> {
  const [made, { uid, gid }] = await Promise.all([Deno.stat(path), Deno.stat(other)]);
  if (made.uid === uid) return;
  await Deno.chown(path, uid, gid).catch(() => {});
}
