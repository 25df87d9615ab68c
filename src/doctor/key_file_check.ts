import { AppError } from "../core/app_error.ts";
import { findOpenFile } from "../core/files/file_access.ts";
import { readRegularFile } from "../core/files/read_regular_file.ts";
import { shellWord } from "../core/shell_word.ts";
import { type Check, error, type Finding, warning } from "../rag_server/checks/check.ts";

/** Whether a file holds a key, and only for this user. */
export function keyFileCheck(path: string): Check {
  return { name: `key file ${path}`, run: async () => ({ findings: await findingsOf(path) }) };
}

async function findingsOf(path: string): Promise<Finding[]> {
  const write = `(umask 077; printf %s 'KEY' > ${shellWord(path)})`;
  try {
    if ((await readRegularFile(path)).trim() === "") return [error(`${path} is empty`, write)];
    const open = await findOpenFile(path, { rootMayShareWithGroup: true });
    return open === undefined ? [] : [warning(open.fault, open.remedy)];
  } catch (thrown) {
    if (thrown instanceof AppError) {
      return [error(`${path} is not a file`, "-- Name the file that holds the key")];
    }
    if (thrown instanceof Deno.errors.NotFound) return [error(`There is no file ${path}`, write)];
    if (thrown instanceof Deno.errors.PermissionDenied) {
      return [error(`This user may not read ${path}`, `sudo chown "$(id -un)" ${shellWord(path)}`)];
    }
    throw thrown;
  }
}
