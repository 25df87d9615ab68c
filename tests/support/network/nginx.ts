import { join } from "node:path";
import { findProgram } from "../programs.ts";

/** nginx with a file of servers, in a folder of its own. */
export interface Nginx extends AsyncDisposable {
  /** What it wrote to its log of errors. */
  errors(): Promise<string>;
  /** Has it take other servers; requests under way end as they began. */
  reload(servers: string): Promise<void>;
}

/**
 * Starts nginx and resolves once it listens. `servers` stands where a file of `conf.d` would.
 *
 * @throws {Error} with its own words where it does not take the file
 */
export async function startNginx(folder: string, servers: string): Promise<Nginx> {
  const file = join(folder, "nginx.conf");
  const errorFile = join(folder, "error.log");
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `  ${name}_temp_path ${join(folder, name)};`);
  await Deno.writeTextFile(join(folder, "servers.conf"), servers);
  await Deno.writeTextFile(
    file,
    [
      // its workers must get at the folder
      ...(Deno.uid() === 0 ? ["user root;"] : []),
      `pid ${join(folder, "nginx.pid")};`,
      "worker_processes 1;",
      "events {}",
      "http {",
      "  access_log off;",
      ...temporary,
      `  include ${join(folder, "servers.conf")};`,
      "}",
    ].join("\n"),
  );
  const child = new Deno.Command(findProgram("nginx") ?? "nginx", {
    args: ["-c", file, "-p", folder, "-e", errorFile, "-g", "daemon off;"],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const failed = new Response(child.stderr).text();
  // the file of its process id is there once it listens
  const isThere = () => Deno.stat(join(folder, "nginx.pid")).then(() => true, () => false);
  const ended = child.status.then(async ({ code }) => {
    throw new Error(`nginx ended with ${code}: ${await failed}`);
  });
  ended.catch(() => {});
  while (!await Promise.race([isThere(), ended])) await new Promise((resolve) => setTimeout(resolve, 20));
  return {
    errors: () => Deno.readTextFile(errorFile),
    async reload(changed) {
      await Deno.writeTextFile(join(folder, "servers.conf"), changed);
      child.kill("SIGHUP");
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.status;
    },
  };
}
