import assert from "node:assert/strict";
import { fillIn } from "../../tools/release/templates.ts";
import { releaseStem, releaseTargets } from "../../tools/release/targets.ts";

const packaging = new URL("../../packaging/", import.meta.url);
const values = { version: "1.2.3", repository: "https://github.example/some/postern" };
const sums: ReadonlyMap<string, string> = new Map(
  releaseTargets.flatMap((target, index) =>
    [target.archive, "mcpb"].map((suffix, at) =>
      [`${releaseStem("1.2.3", target)}.${suffix}`, String(index * 2 + at).repeat(64)] as const
    )
  ),
);

function fill(name: string, more = {}): { text: string; missing: string[] } {
  return fillIn(Deno.readTextFileSync(new URL(name, packaging)), values, sums, more);
}

Deno.test("the formula has the address and the sum of each archive but the one for Windows", () => {
  const { text, missing } = fill("homebrew/postern.rb");
  assert.deepEqual(missing, []);
  const pairs = [...text.matchAll(/url "(.*)"\n +sha256 "(.*)"/g)].map(([, url, sum]) => [url, sum]);
  assert.deepEqual(
    pairs.toSorted(),
    releaseTargets.filter(({ archive }) => archive === "tar.gz").map((target) => {
      const name = `${releaseStem("1.2.3", target)}.tar.gz`;
      return [`https://github.example/some/postern/releases/download/v1.2.3/${name}`, sums.get(name)];
    }).toSorted(),
  );
});

Deno.test("server.json has the npm package, and the bundle of each target", () => {
  const { text, missing } = fill("mcp/server.json");
  assert.deepEqual(missing, []);
  const server = JSON.parse(text);
  assert.equal(server.name, "io.github.some/postern");
  assert.ok(server.description.length <= 100);
  const [{ registryType, ...npm }, ...bundles] = server.packages;
  assert.deepEqual([registryType, npm.identifier, npm.version], ["npm", "postern", "1.2.3"]);
  assert.equal(JSON.parse(fill("npm/package.json", { deno: "1" }).text).mcpName, server.name);
  for (const [index, target] of releaseTargets.entries()) {
    const name = `${releaseStem("1.2.3", target)}.mcpb`;
    const { identifier, fileSha256, version } = bundles[index];
    assert.ok(identifier.endsWith(`/v1.2.3/${name}`), identifier);
    assert.deepEqual([fileSha256, version], [sums.get(name), "1.2.3"]);
  }
  assert.equal(bundles.length, releaseTargets.length);
});

Deno.test("the bundle's manifest names the executable and the platform", () => {
  const manifest = JSON.parse(fill("mcp/manifest.json", { platform: "win32", suffix: ".exe" }).text);
  assert.equal(manifest.server.mcp_config.command, "${__dirname}/server/postern.exe");
  assert.deepEqual(manifest.compatibility.platforms, ["win32"]);
});

Deno.test("fillIn() says which files a release lacks, and refuses unknown names", () => {
  assert.deepEqual(fillIn("a @sha256 x.zip@ b", values, new Map()), { text: "a  b", missing: ["x.zip"] });
  assert.throws(() => fillIn("@verison@", values, new Map()), /Cannot fill in @verison@/);
});
