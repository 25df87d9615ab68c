import { AppError } from "../app_error.ts";

/**
 * A file's text, with what is not UTF-8 replaced. A pipe or a device is not opened, since that could take for ever.
 *
 * @throws AppError `invalid` for what is no regular file, else the runtime's error
 */
export async function readRegularFile(path: string): Promise<string> {
  return new TextDecoder().decode(await readRegularBytes(path));
}

/** As readRegularFile(), without decoding. */
export async function readRegularBytes(path: string): Promise<Uint8Array> {
  requireRegular(await Deno.stat(path), "read", path);
  return await Deno.readFile(path);
}

/**
 * As readRegularBytes(); undefined, and nothing is read, where the file has more than `maxBytes`.
 *
 * @throws besides, the signal's reason
 */
export async function readAtMost(
  path: string,
  maxBytes: number,
  { signal }: { signal?: AbortSignal } = {},
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const info = await Deno.stat(path);
  requireRegular(info, "read", path);
  if (info.size > maxBytes) return undefined;
  return await Deno.readFile(path, signal && { signal });
}

/**
 * The secret in a file, without blanks around it.
 *
 * @param what in words, for the error
 * @throws AppError `unavailable` where the file cannot be read or is empty
 */
export async function readSecretFile(path: string, what: string): Promise<string> {
  const text = await readRegularFile(path).catch((cause) => {
    throw new AppError("unavailable", `Cannot read ${what} in ${path}`, { cause });
  });
  if (text.trim() !== "") return text.trim();
  throw new AppError("unavailable", `Cannot use ${what} in ${path}: the file is empty`);
}

/** @throws AppError `invalid` for what is no regular file */
export function requireRegular(info: Deno.FileInfo, verb: "read" | "open" | "write", path: string): void {
  if (!info.isFile) throw new AppError("invalid", `Cannot ${verb} ${path}: it is not a regular file`);
}
