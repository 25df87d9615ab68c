import { join } from "node:path";
import { AppError } from "../../core/app_error.ts";
import { lockWithin } from "../../core/files/file_lock.ts";

/** Long enough for a predecessor that is shutting down. */
const longestWaitMs = 3000;

/**
 * Makes the directory where it is missing and keeps other servers out of it: PGlite itself lets two write to one
 * directory, which ruins the data. The lock is the operating system's, so it ends with the process however that ends.
 * Returns the function that gives it back.
 *
 * @throws AppError `conflict` where another server has it
 */
export async function lockDirectory(directory: string): Promise<() => void> {
  await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
  const file = await Deno.open(join(directory, "postern.lock"), { create: true, write: true, mode: 0o600 });
  if (!await lockWithin(file, "exclusive", longestWaitMs)) {
    throw new AppError(
      "conflict",
      `Cannot open the embedded database ${directory}: another server has it open`,
    );
  }
  return () => file.close();
}
