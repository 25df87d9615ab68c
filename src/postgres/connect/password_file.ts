import { AppError } from "../../core/app_error.ts";
import { readAtMost } from "../../core/files/read_regular_file.ts";

const maxLength = 10_000;
/** Room for the longest in UTF-8, and for line ends. */
const maxFileBytes = 4 * maxLength;

/**
 * The password that a file of its own holds, as a mounted secret does, without the line ends after it.
 *
 * @throws {AppError} `unavailable`, naming the database, the setting and, in `cause`, the file
 */
export async function readPasswordFile(path: string, databaseName: string): Promise<string> {
  const unusable = (reason: string) =>
    new AppError("unavailable", `Cannot reach database "${databaseName}": password_file: ${reason}`, {
      cause: new Error(`${path}: ${reason}`),
    });
  let bytes: Uint8Array | undefined;
  try {
    bytes = await readAtMost(path, maxFileBytes);
  } catch (error) {
    throw unusable(reasonOf(error));
  }
  if (bytes === undefined) throw unusable("expected one line that holds the password");
  const password = new TextDecoder().decode(bytes).replace(/[\r\n]+$/, "");
  if (password === "") throw unusable("the file is empty");
  if (/[\r\n\0]/.test(password) || password.length > maxLength) {
    throw unusable("expected one line that holds the password");
  }
  return password;
}

function reasonOf(error: unknown): string {
  if (error instanceof AppError) return "it is not a regular file";
  if (error instanceof Deno.errors.NotFound) return "there is no such file";
  if (error instanceof Deno.errors.PermissionDenied) return "no permission to read the file";
  return "the file cannot be read";
}
