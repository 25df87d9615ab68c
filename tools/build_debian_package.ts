import { createHash } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

/**
 * Makes the Debian package from an unpacked archive of a release: `bin/postern`, and beside it `share` with the man page and
 * completions. Needs dpkg-deb. The same input makes the same bytes.
 *
 *     deno run -A tools/build_debian_package.ts FOLDER amd64|arm64 OUTPUT_FOLDER
 */
export interface DebianPackageOptions {
  readonly folder: string;
  readonly architecture: "amd64" | "arm64";
  /** Of the program, as in `0.1.0` or `0.2.0-rc.1`. */
  readonly version: string;
  readonly outputFolder: string;
  /** When the release was made, in seconds since 1970: the time of every file. */
  readonly epochSeconds: number;
  /** dpkg-deb's name of it. */
  readonly compression?: "xz" | "none";
}

const root = fileURLToPath(new URL("../", import.meta.url));
const packaging = join(root, "packaging");
const executables = ["usr/bin/postern"];
const scripts = ["postinst", "prerm", "postrm"];
const conffiles = ["/etc/postern/config.yaml"];

/** @returns the path of the package, `postern_VERSION_ARCHITECTURE.deb` in the output folder */
export async function buildDebianPackage(options: DebianPackageOptions): Promise<string> {
  const { architecture, outputFolder, epochSeconds, compression = "xz" } = options;
  // Debian's order puts 1.0~rc.1 before 1.0
  const version = options.version.replace("-", "~");
  const tree = await Deno.makeTempDir({ prefix: "postern_deb_" });
  try {
    for (const [from, to] of await payload(options.folder)) {
      const bytes = await Deno.readFile(from);
      // Debian's policy asks for it
      if (to.startsWith("usr/share/man/")) await write(tree, `${to}.gz`, gzipSync(bytes, { level: 9 }));
      else await write(tree, to, bytes);
    }
    await write(tree, "usr/share/doc/postern/changelog.gz", changelog(version, epochSeconds));
    await write(tree, "usr/share/lintian/overrides/postern", await text("debian/lintian-overrides"));
    await describe(tree, { version, architecture });
    await openFolders(tree);
    const file = join(outputFolder, `postern_${version}_${architecture}.deb`);
    const { success, stderr } = await new Deno.Command("dpkg-deb", {
      args: ["--root-owner-group", `-Z${compression}`, "--build", tree, file],
      env: { SOURCE_DATE_EPOCH: String(epochSeconds) },
    }).output();
    if (!success) throw new Error(`dpkg-deb failed: ${new TextDecoder().decode(stderr)}`);
    return file;
  } finally {
    await Deno.remove(tree, { recursive: true });
  }
}

/** What the package installs: where it is now, and its place below the root. */
async function payload(folder: string): Promise<(readonly [from: string, to: string])[]> {
  const shared = (await filesBelow(join(folder, "share"))).map((path) =>
    // where Debian's zsh looks
    [
      join(folder, "share", path),
      `usr/share/${path.replace("zsh/site-functions/", "zsh/vendor-completions/")}`,
    ] as const
  );
  return [
    [join(folder, "bin/postern"), "usr/bin/postern"],
    ...shared,
    [join(packaging, "systemd/postern@.service"), "usr/lib/systemd/system/postern@.service"],
    [join(packaging, "systemd/sysusers.conf"), "usr/lib/sysusers.d/postern.conf"],
    [join(packaging, "systemd/tmpfiles.conf"), "usr/lib/tmpfiles.d/postern.conf"],
    [join(packaging, "debian/config.yaml"), "etc/postern/config.yaml"],
    [join(root, "config.example.yaml"), "usr/share/doc/postern/config.example.yaml"],
    [join(root, "LICENSE"), "usr/share/doc/postern/copyright"],
  ];
}

/** Everything of the package that says what is in it. */
async function describe(
  tree: string,
  { version, architecture }: { version: string; architecture: string },
): Promise<void> {
  const files = await filesBelow(tree);
  const contents = await Promise.all(files.map((path) => Deno.readFile(join(tree, path))));
  const bytes = contents.reduce((sum, { length }) => sum + length, 0);
  const sums = contents.map(md5);
  const control = (await text("debian/control"))
    .replace("${version}", version)
    .replace("${architecture}", architecture)
    .replace("${installedSize}", String(Math.ceil(bytes / 1024)));
  await write(tree, "DEBIAN/control", control);
  await write(tree, "DEBIAN/conffiles", conffiles.map((path) => `${path}\n`).join(""));
  await write(tree, "DEBIAN/md5sums", files.map((path, index) => `${sums[index]}  ${path}\n`).join(""));
  for (const name of scripts) await write(tree, `DEBIAN/${name}`, await text(`debian/${name}`));
  for (const path of [...executables, ...scripts.map((name) => `DEBIAN/${name}`)]) {
    await Deno.chmod(join(tree, path), 0o755);
  }
}

/** In Debian's own form, which its tools ask for. */
function changelog(version: string, epochSeconds: number): Uint8Array {
  const date = new Date(epochSeconds * 1_000).toUTCString().replace("GMT", "+0000");
  return gzipSync(
    `postern (${version}) unstable; urgency=medium\n\n  * CHANGELOG.md of the release says what is new.\n\n` +
      ` -- The Postern authors <postern@localhost>  ${date}\n`,
    { level: 9 },
  );
}

function md5(bytes: Uint8Array): string {
  return createHash("md5").update(bytes).digest("hex");
}

function text(path: string): Promise<string> {
  return Deno.readTextFile(join(packaging, path));
}

async function write(tree: string, path: string, content: string | Uint8Array): Promise<void> {
  const file = join(tree, path);
  await Deno.mkdir(dirname(file), { recursive: true });
  await Deno.writeFile(file, typeof content === "string" ? new TextEncoder().encode(content) : content);
  await Deno.chmod(file, 0o644);
}

/** Whatever the umask of who builds it. */
async function openFolders(folder: string): Promise<void> {
  await Deno.chmod(folder, 0o755);
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) await openFolders(join(folder, name));
  }
}

/** Their paths below a folder, in order. */
async function filesBelow(folder: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) paths.push(...(await filesBelow(join(folder, name))).map((path) => `${name}/${path}`));
    else paths.push(name);
  }
  return paths.toSorted();
}

if (import.meta.main) {
  const [folder, architecture, outputFolder] = Deno.args;
  if (folder === undefined || outputFolder === undefined || !isArchitecture(architecture)) {
    throw new Error(`usage: ${basename(import.meta.url)} FOLDER amd64|arm64 OUTPUT_FOLDER`);
  }
  const { default: { version } } = await import("../deno.json", { with: { type: "json" } });
  const epochSeconds = Number(Deno.env.get("SOURCE_DATE_EPOCH") ?? Math.floor(Date.now() / 1_000));
  await buildDebianPackage({ folder, architecture, version, outputFolder, epochSeconds });
}

function isArchitecture(text: string | undefined): text is "amd64" | "arm64" {
  return text === "amd64" || text === "arm64";
}
