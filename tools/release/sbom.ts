import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { NpmPackage } from "./npm_packages.ts";

export interface SbomOptions {
  readonly version: string;
  readonly time: Date;
  /** Of the runtime that the executable carries. */
  readonly denoVersion: string;
  readonly v8Version: string;
  readonly packages: readonly NpmPackage[];
}

/** What is in the executable, as CycloneDX 1.6 in JSON. The same packages, version and time make the same text. */
export function sbom({ version, time, denoVersion, v8Version, packages }: SbomOptions): string {
  const program = `postern@${version}`;
  const runtime = [
    {
      type: "platform",
      "bom-ref": `deno@${denoVersion}`,
      name: "deno",
      version: denoVersion,
      purl: `pkg:github/denoland/deno@v${denoVersion}`,
      licenses: [{ license: { id: "MIT" } }],
    },
    {
      type: "library",
      "bom-ref": `v8@${v8Version}`,
      name: "v8",
      version: v8Version,
      purl: `pkg:github/v8/v8@${v8Version}`,
      licenses: [{ license: { id: "BSD-3-Clause" } }],
    },
  ];
  const bom = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      timestamp: time.toISOString(),
      component: {
        type: "application",
        "bom-ref": program,
        name: "postern",
        version,
        licenses: [{ license: { id: "MIT" } }],
      },
    },
    components: [...runtime, ...packages.map(component)],
    dependencies: [
      {
        ref: program,
        dependsOn: [`deno@${denoVersion}`, ...packages.filter(({ isDirect }) => isDirect).map(purl)],
      },
      { ref: `deno@${denoVersion}`, dependsOn: [`v8@${v8Version}`] },
      ...packages.map((one) => {
        const dependsOn = one.dependencies.flatMap((key) => packages.filter((other) => other.key === key))
          .map(purl);
        return { ref: purl(one), dependsOn };
      }),
    ],
  };
  const serialNumber = `urn:uuid:${uuidOf(JSON.stringify(bom))}`;
  return JSON.stringify({ ...bom, serialNumber }, null, 2) + "\n";
}

function component(npm: NpmPackage): Record<string, unknown> {
  const [scope, name] = npm.name.startsWith("@") ? npm.name.split("/") : [undefined, npm.name];
  return {
    type: "library",
    "bom-ref": purl(npm),
    ...(scope === undefined ? {} : { group: scope }),
    name,
    version: npm.version,
    purl: purl(npm),
    hashes: [{ alg: "SHA-512", content: hexOfIntegrity(npm.integrity) }],
    licenses: [
      /^[\w.+-]+$/.test(npm.licence) ? { license: { id: npm.licence } } : { expression: npm.licence },
    ],
  };
}

function purl({ name, version }: NpmPackage): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

/** From the lock file's `sha512-` and Base64. */
function hexOfIntegrity(integrity: string): string {
  return Buffer.from(integrity.replace(/^sha512-/, ""), "base64").toString("hex");
}

/** An identifier made from a text: RFC 9562's version 8. */
function uuidOf(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${
    hex.slice(20, 32)
  }`;
}
