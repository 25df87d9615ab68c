import type { LoadOptions } from "../../src/config/mod.ts";

/** Options under which `/etc/postern/config.yaml` holds the text and nothing of this machine is read. */
export function optionsFor(text: string, options: Partial<LoadOptions> = {}): LoadOptions {
  const files: Readonly<Record<string, string>> = { "/etc/postern/config.yaml": text };
  return { env: {}, cwd: "/srv", readFile: readFrom(files), ...options };
}

export function readFrom(files: Readonly<Record<string, string>>): (path: string) => Promise<string> {
  return (path) => {
    const text = files[path];
    return text === undefined ? Promise.reject(new Deno.errors.NotFound(path)) : Promise.resolve(text);
  };
}
