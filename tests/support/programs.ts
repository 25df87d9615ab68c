/** Where administrators' programs are, which a user's PATH may lack. */
const administratorsFolders = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/** PATH with those too: what a program starts may be there. */
export const fullPath = [...(Deno.env.get("PATH") ?? "").split(":"), ...administratorsFolders].join(":");

/** The path of a program that the machine has; undefined where it has none. */
export function findProgram(name: string): string | undefined {
  return fullPath.split(":").map((folder) => `${folder}/${name}`).find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  });
}

/** Registers a test, as `Deno.test` does. */
export type Register = (name: string, fn: (t: Deno.TestContext) => Promise<void>) => void;

/**
 * Registers a test that needs programs, or to run as `root`; it is ignored, and its name says why, where one is missing.
 *
 * @param register `testWithPostgres` or another, where the test needs more
 */
export function testWithPrograms(
  needs: readonly string[],
  name: string,
  fn: (t: Deno.TestContext) => Promise<void>,
  register: Register = Deno.test,
): void {
  const missing = needs.filter((need) =>
    need === "root" ? Deno.uid() !== 0 : findProgram(need) === undefined
  );
  if (missing.length === 0) register(name, fn);
  else Deno.test({ name: `${name} (needs ${missing.join(" and ")})`, ignore: true, fn });
}
