import { gzipSync } from "node:zlib";
import { zipSync } from "fflate";
import { packTar } from "modern-tar";

/** A file of an archive. */
export interface ArchivedFile {
  /** Below the archive's root, with slashes. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly isExecutable?: boolean;
}

/** A gzipped tar file. The same files and time make the same bytes, whoever packs them. */
export async function tarGz(files: readonly ArchivedFile[], time: Date): Promise<Uint8Array> {
  const tar = await packTar(files.map(({ path, bytes, isExecutable }) => ({
    header: { name: path, size: bytes.length, mode: mode(isExecutable), mtime: time, uid: 0, gid: 0 },
    body: bytes,
  })));
  // no name, and no time of its own
  return gzipSync(tar, { level: 9 });
}

/** A zip file. The same files and time make the same bytes, in every time zone; executables keep that they are. */
export function zip(files: readonly ArchivedFile[], time: Date): Uint8Array {
  // the format has no zone, and the library writes local time
  const mtime = new Date(time.getTime() + time.getTimezoneOffset() * 60_000);
  return zipSync(Object.fromEntries(files.map(({ path, bytes, isExecutable }) => [
    path,
    [bytes, { level: 9, mtime, os: unix, attrs: (regularFile | mode(isExecutable)) << 16 }],
  ])));
}

const unix = 3;
const regularFile = 0o100000;

function mode(isExecutable = false): number {
  return isExecutable ? 0o755 : 0o644;
}
