/**
 * Makes the files of a release: `release [--target TRIPLE]… [--repository URL] [--tag vVERSION] [--output FOLDER]`.
 * Without `--target` it makes those of every platform. CONTRIBUTING.md says what the files are.
 */
import { createHash } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import denoConfig from "../../deno.json" with { type: "json" };
import places from "../../packaging/places.json" with { type: "json" };
import { buildDebianPackage } from "../build_debian_package.ts";
import { bundleProgram } from "../bundle_program.ts";
import { compileProgram } from "../compile_program.ts";
import { type ArchivedFile, tarGz, zip } from "./archives.ts";
import { installedFiles } from "./installed_files.ts";
import { shippedPackages } from "./npm_packages.ts";
import { npmTarball } from "./npm_tarball.ts";
import { releaseNotes } from "./release_notes.ts";
import { sbom } from "./sbom.ts";
import { releaseStem, type ReleaseTarget, releaseTargets } from "./targets.ts";
import { fillIn, sumsText } from "./templates.ts";
import { thirdPartyNotices } from "./third_party_notices.ts";

const root = new URL("../../", import.meta.url);
const { version } = denoConfig;

const { values: options } = parseArgs({
  args: Deno.args,
  options: {
    target: { type: "string", multiple: true },
    repository: { type: "string", default: places.repository },
    tag: { type: "string" },
    output: { type: "string", default: fileURLToPath(new URL("dist/release", root)) },
  },
});
const values = { version, repository: options.repository };
const targets = chooseTargets(options.target);
const notes = releaseNotes(await Deno.readTextFile(new URL("CHANGELOG.md", root)), version);
if (options.tag !== undefined) checkTag(options.tag);
const time = await commitTime();
const sums = new Map<string, string>();
const hasDpkgDeb = await new Deno.Command("dpkg-deb", { args: ["--version"], stdout: "null" }).output()
  .then(() => true, () => false);
if (!hasDpkgDeb) say("This machine has no dpkg-deb: Debian packages are not made");

await Deno.remove(options.output, { recursive: true }).catch(() => {});
await Deno.mkdir(options.output, { recursive: true });
await using bundle = await bundleProgram();
const packages = await shippedPackages(bundle.sources, root);
const notices = await thirdPartyNotices(packages, root);
const installed = await installedFiles({ version, time, notices, root });
// before the bundle's folder has executables in it
await write(`postern-${version}.tgz`, await npmTarball({ ...values, bundle, time, notices, root }));
for (const target of targets) await writeTarget(target);
await write(
  `postern-${version}.cdx.json`,
  sbom({ version, time, denoVersion: Deno.version.deno, v8Version: Deno.version.v8, packages }),
);
for (
  const [file, name] of [
    ["install.sh", "install.sh"],
    ["homebrew/postern.rb", "postern.rb"],
    ["mcp/server.json", "server.json"],
  ] as const
) {
  const { text, missing } = fillIn(await readPackaging(file), values, sums);
  if (missing.length === 0) await write(name, text);
  else say(`${name} is not made: it names ${missing.join(", ")}`);
}
await write("SHA256SUMS", sumsText(sums));
// the text of the release, not one of its files
await write("release_notes.md", notes.text);

function chooseTargets(triples: readonly string[] | undefined): readonly ReleaseTarget[] {
  const known = releaseTargets.map(({ triple }) => triple);
  const unknown = triples?.find((triple) => !known.includes(triple));
  if (unknown !== undefined) fail(`--target ${unknown}: expected one of ${known.join(", ")}`);
  if (triples !== undefined) return releaseTargets.filter(({ triple }) => triples.includes(triple));
  if (!Deno.env.has("DENORT_BIN")) return releaseTargets;
  const others = known.filter((triple) => triple !== Deno.build.target);
  say(`DENORT_BIN names the runtime of one platform: ${others.join(", ")} are not made`);
  return releaseTargets.filter(({ triple }) => triple === Deno.build.target);
}

function checkTag(tag: string): void {
  if (tag !== `v${version}`) fail(`--tag ${tag}: deno.json has the version ${version}`);
  if (!notes.isReleased) fail(`--tag ${tag}: CHANGELOG.md has no section [${version}]`);
}

/** When the commit was made, or what SOURCE_DATE_EPOCH says: the same of every build of it. */
async function commitTime(): Promise<Date> {
  const epoch = Deno.env.get("SOURCE_DATE_EPOCH") ??
    new TextDecoder().decode(
      (await new Deno.Command("git", { args: ["log", "-1", "--format=%ct"], cwd: root }).output()).stdout,
    );
  return new Date(Number(epoch) * 1000);
}

/** The archive that people unpack or the install script does, and the bundle for Claude Desktop. */
async function writeTarget(target: ReleaseTarget): Promise<void> {
  const stem = releaseStem(version, target);
  const output = join(bundle.folder, stem);
  await compileProgram({ bundle, target: target.triple, output });
  const bytes = await Deno.readFile(output + target.suffix);
  const executable = { bytes, isExecutable: true };
  const files = [{ path: `bin/postern${target.suffix}`, ...executable }, ...installed];
  const inFolder = files.map((file) => ({ ...file, path: `${stem}/${file.path}` }));
  await write(
    `${stem}.${target.archive}`,
    target.archive === "zip" ? zip(inFolder, time) : await tarGz(inFolder, time),
  );
  if (target.debian !== undefined && hasDpkgDeb) await writeDebianPackage(target.debian, files);

  const { platform, suffix } = target;
  const manifest = fillIn(await readPackaging("mcp/manifest.json"), values, sums, { platform, suffix }).text;
  const texts = { "manifest.json": manifest, "LICENSE": await Deno.readTextFile(new URL("LICENSE", root)) };
  await write(
    `${stem}.mcpb`,
    zip([
      ...Object.entries({ ...texts, "THIRD_PARTY_NOTICES.txt": notices }).map(([path, text]) => ({
        path,
        bytes: new TextEncoder().encode(text),
      })),
      { path: `server/postern${suffix}`, ...executable },
    ], time),
  );
}

async function writeDebianPackage(
  architecture: "amd64" | "arm64",
  files: readonly ArchivedFile[],
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "postern_release_" });
  try {
    for (const { path, bytes } of files) {
      await Deno.mkdir(join(folder, dirname(path)), { recursive: true });
      await Deno.writeFile(join(folder, path), bytes);
    }
    const epochSeconds = time.getTime() / 1000;
    const file = await buildDebianPackage({
      folder,
      architecture,
      version,
      outputFolder: folder,
      epochSeconds,
    });
    await write(basename(file), await Deno.readFile(file));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function readPackaging(name: string): Promise<string> {
  return Deno.readTextFile(new URL(`packaging/${name}`, root));
}

async function write(name: string, content: string | Uint8Array): Promise<void> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  sums.set(name, createHash("sha256").update(bytes).digest("hex"));
  await Deno.writeFile(join(options.output, name), bytes);
  say(`${name}: ${(bytes.length / 1e6).toFixed(1)} MB`);
}

function say(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

function fail(reason: string): never {
  Deno.stderr.writeSync(new TextEncoder().encode(`release: ${reason}\n`));
  Deno.exit(2);
}
