/** Whether a file's group or others may do anything with it; never so where the system has no such modes. */
export function isReadableByOthers(info: Deno.FileInfo): boolean {
  return info.mode !== null && (info.mode & 0o077) !== 0;
}
