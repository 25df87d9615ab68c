import { readRegularFile } from "../../core/files/read_regular_file.ts";
import { isReadableByOthers } from "../../postgres/private_file.ts";
import { type Check, error, type Finding, warning } from "./check.ts";
import { shellWord } from "./table_subject.ts";

/** Whether a file holds a key, and only for this user. */
export function keyFileCheck(path: string): Check {
  return { name: `key file ${path}`, run: async () => ({ findings: await findingsOf(path) }) };
}

async function findingsOf(path: string): Promise<Finding[]> {
  const write = `(umask 077; printf %s 'KEY' > ${shellWord(path)})`;
  try {
    const info = await Deno.stat(path);
    if (!info.isFile) return [error(`${path} is not a file`, "-- Name the file that holds the key")];
    if ((await readRegularFile(path)).trim() === "") return [error(`${path} is empty`, write)];
    if (!isReadableByOthers(info)) return [];
    const mode = ((info.mode ?? 0) & 0o777).toString(8).padStart(4, "0");
    return [
      warning(
        `Other users of this machine can access ${path} (mode ${mode})`,
        `chmod 600 ${shellWord(path)}`,
      ),
    ];
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotFound) return [error(`There is no file ${path}`, write)];
    if (thrown instanceof Deno.errors.PermissionDenied) {
      return [error(`This user may not read ${path}`, `sudo chown "$(id -un)" ${shellWord(path)}`)];
    }
    throw thrown;
  }
}
