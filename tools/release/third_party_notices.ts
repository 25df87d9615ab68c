import { join } from "node:path";
import type { NpmPackage } from "./npm_packages.ts";

/**
 * The licences of what is in the executable: the runtime's and those of the code within packages, which
 * `packaging/notices/` holds, then each package's own.
 */
export async function thirdPartyNotices(packages: readonly NpmPackage[], root: URL): Promise<string> {
  const own = await Deno.readTextFile(new URL("LICENSE", root));
  const carried: string[] = [];
  const folder = new URL("packaging/notices/", root);
  for (const { name } of [...Deno.readDirSync(folder)].toSorted((a, b) => a.name < b.name ? -1 : 1)) {
    carried.push((await Deno.readTextFile(new URL(name, folder))).trim());
  }
  const ofPackages = await Promise.all(
    packages.map(async (npm) =>
      `${npm.name} ${npm.version} (${npm.licence})\n\n${(await licenceText(npm)) ?? grantOf(npm, own)}`
    ),
  );
  const introduction = "Postern's executable carries the following software, under the licences that follow.";
  return [introduction, ...carried, ...ofPackages].join(`\n\n${"=".repeat(80)}\n\n`) + "\n";
}

/** From the package's files of that name, else from the end of its README; undefined where neither has it. */
async function licenceText({ folder }: NpmPackage): Promise<string | undefined> {
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name).toSorted();
  const files = names.filter((name) => /^(licen[cs]e|copying|notice)(\.|$)/i.test(name));
  const texts = await Promise.all(files.map((name) => Deno.readTextFile(join(folder, name))));
  if (texts.length > 0) return texts.map((text) => text.trim()).join("\n\n");
  const readme = names.find((name) => /^readme\.md$/i.test(name));
  if (readme === undefined) return undefined;
  const [, text] = /^#+ licen[cs]e\s*$(.+)/ims.exec(await Deno.readTextFile(join(folder, readme))) ?? [];
  return text?.includes("Permission is hereby granted") ? text.trim() : undefined;
}

/** For a package that only names the licence which Postern has too. @throws {Error} for another licence */
function grantOf({ name, licence, author }: NpmPackage, own: string): string {
  if (licence !== "MIT") throw new Error(`Cannot find the licence's text of ${name} (${licence})`);
  const [, grant = ""] = own.split(/^Copyright .*$/m);
  return `Copyright (c) ${author ?? `the authors of ${name}`}\n\n${grant.trim()}`;
}
