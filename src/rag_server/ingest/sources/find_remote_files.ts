import { byPath, type FileNote, type FoundFile, type FoundFiles, unfit } from "../find_files.ts";
import type { RemoteFile, RemoteSource } from "./remote_source.ts";

/** As `findFiles` for a folder. @throws {Error} as `list`, and where that is empty, unless removal is confirmed */
export async function findRemoteFiles(
  source: RemoteSource,
  options: { maxFileBytes: number; isRemovalConfirmed?: boolean; signal: AbortSignal },
): Promise<FoundFiles> {
  const listed = await source.list(options.signal);
  if (listed.length === 0 && !options.isRemovalConfirmed) {
    throw new Error("it has no files; if that is right, run again with -confirm-removal");
  }
  const files = new Map<string, FoundFile>();
  const skipped: FileNote[] = [];
  for (const remote of listed) {
    const path = remote.path.normalize("NFC");
    const reason = files.has(path)
      ? "another file has the same name"
      : whyLeftOut(remote, options.maxFileBytes);
    if (reason === undefined) files.set(path, { location: "", path, remote });
    else skipped.push({ path, reason });
  }
  return { files: [...files.values()].sort(byPath), skipped, failed: [], unreadable: new Set() };
}

function whyLeftOut({ path, size, reason }: RemoteFile, maxFileBytes: number): string | undefined {
  if (reason !== undefined || size === undefined) return reason;
  if (/(^|\/)(\.|node_modules\/)/.test(path)) return "it is hidden, or of an installed package";
  return unfit(path, { isFile: true, size }, maxFileBytes);
}
