/** A platform that Deno has a runtime for, as `deno compile --target` names it. */
export interface ReleaseTarget {
  readonly triple: string;
  readonly archive: "tar.gz" | "zip";
  /** Of the executable. */
  readonly suffix: "" | ".exe";
  /** As Node.js's `process.platform` says it, which manifests of MCP bundles do too. */
  readonly platform: "linux" | "darwin" | "win32";
  /** What Debian calls the machine; only where there is a package for it. */
  readonly debian?: "amd64" | "arm64";
}

export const releaseTargets: readonly ReleaseTarget[] = [
  { triple: "x86_64-unknown-linux-gnu", archive: "tar.gz", suffix: "", platform: "linux", debian: "amd64" },
  { triple: "aarch64-unknown-linux-gnu", archive: "tar.gz", suffix: "", platform: "linux", debian: "arm64" },
  { triple: "x86_64-apple-darwin", archive: "tar.gz", suffix: "", platform: "darwin" },
  { triple: "aarch64-apple-darwin", archive: "tar.gz", suffix: "", platform: "darwin" },
  { triple: "x86_64-pc-windows-msvc", archive: "zip", suffix: ".exe", platform: "win32" },
];

/** The name of a target's files in a release, without their suffix. */
export function releaseStem(version: string, target: ReleaseTarget): string {
  return `postern-${version}-${target.triple}`;
}
