import { AppError } from "../app_error.ts";

/**
 * A file's text, with what is not UTF-8 replaced. A pipe or a device is not opened: that could take for ever.
 *
 * @throws AppError `invalid` for what is no regular file, else the runtime's error
 */
export async function readRegularFile(path: string): Promise<string> {
  return new TextDecoder().decode(await readRegularBytes(path));
}

/** As readRegularFile(), without decoding. */
export async function readRegularBytes(path: string): Promise<Uint8Array> {
  if (!(await Deno.stat(path)).isFile) {
    throw new AppError("invalid", `Cannot read ${path}: it is not a regular file`);
  }
  return await Deno.readFile(path);
}
