import { join } from "node:path";
import type { Fault } from "./faults.ts";

/** How long the disk stays full. */
const fullMs = 8_000;

/** A disk in memory, which can be full without harm to others. Undefined where none may be mounted. */
export async function mountSmallDisk(path: string, mebibytes: number): Promise<AsyncDisposable | undefined> {
  const options = ["-t", "tmpfs", "-o", `size=${mebibytes}m`, "tmpfs", path];
  if (!await run("mount", options)) return undefined;
  return { [Symbol.asyncDispose]: async () => void await run("umount", ["-l", path]) };
}

async function run(program: string, args: readonly string[]): Promise<boolean> {
  try {
    const stdio = { stdin: "null", stdout: "null", stderr: "null" } as const;
    return (await new Deno.Command(program, { args: [...args], ...stdio }).output()).success;
  } catch {
    return false;
  }
}

/** Calls are answered on: what cannot be written of the audit trail waits. */
export function fillDisk(path: string): Fault {
  return {
    name: "the disk of the audit trail is full",
    async run() {
      const filler = join(path, "filler");
      const file = await Deno.open(filler, { write: true, create: true });
      try {
        // to the last byte
        for (const size of [1 << 20, 1 << 12, 1]) {
          const part = new Uint8Array(size);
          while (await file.write(part).then((written) => written === size, () => false));
        }
        await new Promise((resolve) => setTimeout(resolve, fullMs));
      } finally {
        file.close();
        await Deno.remove(filler);
      }
    },
  };
}
