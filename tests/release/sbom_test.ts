import assert from "node:assert/strict";
import { lockedPackages, packagesOfFiles } from "../../tools/release/npm_packages.ts";
import { sbom } from "../../tools/release/sbom.ts";

const lock = JSON.stringify({
  specifiers: { "npm:@scope/b@1.0.0": "1.0.0_a@2.0.0", "npm:a@2": "2.0.0" },
  npm: {
    "@scope/b@1.0.0_a@2.0.0": { integrity: "sha512-AAEC", dependencies: ["a@2.0.0", "c"] },
    "a@1.0.0": { integrity: "sha512-AQ==" },
    "a@2.0.0": { integrity: "sha512-Ag==" },
    "c@3.0.0_a@1.0.0": { integrity: "sha512-Aw==", dependencies: ["a@1.0.0"] },
  },
});

Deno.test("lockedPackages() resolves names, versions and dependencies", () => {
  assert.deepEqual(
    lockedPackages(lock).map((
      { name, version, dependencies, isDirect },
    ) => [name, version, dependencies, isDirect]),
    [
      ["@scope/b", "1.0.0", ["a@2.0.0", "c@3.0.0_a@1.0.0"], true],
      ["a", "1.0.0", [], false],
      ["a", "2.0.0", [], true],
      ["c", "3.0.0", ["a@1.0.0"], false],
    ],
  );
});

Deno.test("packagesOfFiles() finds the packages that files come from", () => {
  const locked = lockedPackages(lock);
  const paths = [
    "../src/main.ts",
    "../../cache/npm/registry/@scope/b/1.0.0/x.js",
    "/c/npm/registry/a/2.0.0/d/y.js",
  ];
  assert.deepEqual(packagesOfFiles(paths, locked).map(({ key }) => key), [
    "@scope/b@1.0.0_a@2.0.0",
    "a@2.0.0",
  ]);
  assert.throws(
    () => packagesOfFiles(["/npm/registry/a/9.0.0/x.js"], locked),
    /Cannot find a@9.0.0 in deno.lock/,
  );
});

Deno.test("the SBOM names packages by purl, with hash, licence and what they depend on", () => {
  const packages = lockedPackages(lock).map((one) => ({ ...one, licence: "MIT", folder: "/" }));
  const options = { version: "1.2.3", time: new Date(0), denoVersion: "2.9.6", v8Version: "14.9", packages };
  const text = sbom(options);
  assert.equal(sbom(options), text);
  const bom = JSON.parse(text);
  assert.deepEqual([bom.bomFormat, bom.specVersion], ["CycloneDX", "1.6"]);
  assert.match(bom.serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
  assert.deepEqual(bom.components.find(({ name }: { name: string }) => name === "b"), {
    type: "library",
    "bom-ref": "pkg:npm/%40scope/b@1.0.0",
    group: "@scope",
    name: "b",
    version: "1.0.0",
    purl: "pkg:npm/%40scope/b@1.0.0",
    hashes: [{ alg: "SHA-512", content: "000102" }],
    licenses: [{ license: { id: "MIT" } }],
  });
  const dependsOn = (ref: string) =>
    bom.dependencies.find((one: { ref: string }) => one.ref === ref).dependsOn;
  assert.deepEqual(dependsOn("postern@1.2.3"), ["deno@2.9.6", "pkg:npm/%40scope/b@1.0.0", "pkg:npm/a@2.0.0"]);
  assert.deepEqual(dependsOn("pkg:npm/%40scope/b@1.0.0"), ["pkg:npm/a@2.0.0", "pkg:npm/c@3.0.0"]);
});
