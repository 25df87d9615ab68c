import { withDeadline } from "../../../core/async/deadline.ts";
import { readSecretFile } from "../../../core/files/read_regular_file.ts";
import type { RemoteFile, RemoteSource } from "./remote_source.ts";

/** A branch of a repository, and how to get at it. */
export interface GitSettings {
  /** An address or the path of a repository. */
  readonly url: string;
  /** Without it, the one that the repository names. */
  readonly branch?: string | undefined;
  /** A folder in it. */
  readonly path?: string | undefined;
  readonly username?: string | undefined;
  /** Holds a token or a password for `url`, which is https then. */
  readonly token_file?: string | undefined;
}

const longestRunMs = 10 * 60_000;

/** Nobody is asked for anything, and only these protocols are spoken. */
const environment = {
  GIT_TERMINAL_PROMPT: "0",
  GIT_ASKPASS: "",
  GIT_SSH_COMMAND: "ssh -oBatchMode=yes",
  GIT_ALLOW_PROTOCOL: "file:http:https:ssh",
};

const fetchArguments = "fetch --quiet --depth=1 --no-tags --no-recurse-submodules --".split(" ");

const fetched = "refs/postern/source";

/** The files of a branch's newest commit, which the `git` of this machine fetches into a folder of its own. */
export function openGitSource(settings: GitSettings): RemoteSource {
  const { url, branch, path: folder = "", username = "git", token_file: tokenFile } = settings;
  let repository: string | undefined;

  async function git(signal: AbortSignal, args: readonly string[], own?: Record<string, string>) {
    repository ??= await Deno.makeTempDir({ prefix: "postern_git_" });
    const command = new Deno.Command("git", {
      args: ["--git-dir", repository, "-c", "core.hooksPath=/dev/null", ...args],
      env: { ...environment, ...own },
      stdin: "null",
      signal,
    });
    const run = async () => await command.output();
    const { success, stdout, stderr } = await run().catch((cause) => {
      if (!(cause instanceof Deno.errors.NotFound)) throw cause;
      throw new Error("there is no program git in PATH; install git", { cause });
    });
    signal.throwIfAborted();
    if (success) return stdout;
    const lines = new TextDecoder().decode(stderr).trim().split("\n");
    const telling = lines.filter((line) => /^(?:fatal|error|remote|ssh): /.test(line));
    const said = (telling.length > 0 ? telling : lines.slice(-2)).join(" ").slice(0, 500);
    throw new Error(`git says: ${said}`);
  }

  /** Variables stand in no list of processes. Git sends the header to this host alone, and over https alone. */
  async function login(): Promise<Record<string, string>> {
    if (tokenFile === undefined) return {};
    const pair = btoa(`${username}:${await readSecretFile(tokenFile, "the token")}`);
    return {
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: `http.https://${new URL(url).host}/.extraHeader`,
      GIT_CONFIG_VALUE_0: `Authorization: Basic ${pair}`,
    };
  }

  /** @param line of `git ls-tree`: mode, kind, id, size, and the path after a tab */
  function fileOf(line: string): RemoteFile[] {
    const [, mode = "", mark = "", size, path = ""] = /^(\d+) blob (\w+) +(\d+)\t(.*)$/s.exec(line) ?? [];
    // a submodule is a commit
    if (path === "") return [];
    const reason = mode === "120000" ? "it is a symbolic link" : undefined;
    const read = async (_known: string | undefined, _maxBytes: number, soon: AbortSignal) => {
      return { bytes: await git(soon, ["cat-file", "blob", mark]), mark };
    };
    return [{ path, mark, size: Number(size), reason, read }];
  }

  async function list(signal: AbortSignal): Promise<readonly RemoteFile[]> {
    await git(signal, ["init", "--quiet", "--bare", "--template="]);
    const refspec = `+${branch === undefined ? "HEAD" : `refs/heads/${branch}`}:${fetched}`;
    await git(signal, [...fetchArguments, url, refspec], await login());
    const lines = await git(signal, ["ls-tree", "-r", "-z", "-l", `${fetched}:${folder}`]).catch((cause) => {
      signal.throwIfAborted();
      throw folder === "" ? cause : new Error(`the repository has no folder ${folder}`, { cause });
    });
    return new TextDecoder().decode(lines).split("\0").flatMap(fileOf);
  }

  return {
    list: (signal) => withDeadline(longestRunMs, signal, list),
    async close() {
      if (repository !== undefined) await Deno.remove(repository, { recursive: true });
    },
  };
}
