import type { ArchivedFile } from "./archives.ts";
import { bashCompletion, fishCompletion, zshCompletion } from "./completions.ts";
import { manPage } from "./man_page.ts";

export interface InstalledFilesOptions {
  readonly version: string;
  /** Of the release, for the man page. */
  readonly time: Date;
  readonly notices: string;
  /** The repository's root. */
  readonly root: URL;
}

/** What is installed beside the executable, by its path below a prefix such as `/usr`. */
export async function installedFiles(options: InstalledFilesOptions): Promise<ArchivedFile[]> {
  const { version, time, notices, root } = options;
  const copied = (name: string) => Deno.readTextFile(new URL(name, root));
  const texts: Readonly<Record<string, string>> = {
    "share/bash-completion/completions/postern": bashCompletion("postern"),
    "share/doc/postern/CHANGELOG.md": await copied("CHANGELOG.md"),
    "share/doc/postern/LICENSE": await copied("LICENSE"),
    "share/doc/postern/THIRD_PARTY_NOTICES.txt": notices,
    "share/doc/postern/config.example.yaml": await copied("config.example.yaml"),
    "share/fish/vendor_completions.d/postern.fish": fishCompletion("postern"),
    "share/man/man1/postern.1": manPage({
      command: "postern",
      version,
      date: time.toISOString().slice(0, 10),
    }),
    "share/zsh/site-functions/_postern": zshCompletion("postern"),
  };
  return Object.entries(texts).map(([path, text]) => ({ path, bytes: new TextEncoder().encode(text) }));
}
