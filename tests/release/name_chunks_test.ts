import assert from "node:assert/strict";
import { nameChunks } from "../../tools/name_chunks.ts";
import { temporaryFolder } from "../support/temporary_folder.ts";

/** The files of a bundle after its chunks were named. */
async function named(files: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  await using folder = await temporaryFolder();
  for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(`${folder.path}/${name}`, text);
  await nameChunks(folder.path);
  const names = [...Deno.readDirSync(folder.path)].map(({ name }) => name).toSorted();
  return Object.fromEntries(names.map((name) => [name, Deno.readTextFileSync(`${folder.path}/${name}`)]));
}

Deno.test("nameChunks() names chunks by their content, whatever the bundler called them", async () => {
  const bundle = (a: string, b: string, empty: string) => ({
    "main.js": `import "./run-x-${a}.js"; import "./chunk-${empty}.js";`,
    [`run-x-${a}.js`]: `import "./chunk-${b}.js";`,
    // refers back
    [`chunk-${b}.js`]: `export const later = () => import("./run-x-${a}.js");`,
    [`chunk-${empty}.js`]: "",
  });
  const first = await named(bundle("AAAAAAAA", "BBBBBBBB", "CCCCCCCC"));
  assert.deepEqual(await named(bundle("22222222", "11111111", "00000000")), first);
  const [entry = ""] = /(?<=")\.\/run-x-[0-9a-f]{8}\.js/.exec(first["main.js"] ?? "") ?? [];
  assert.ok(entry.slice(2) in first, JSON.stringify(first));
  assert.equal(Object.keys(first).length, 4);
});

Deno.test("nameChunks() leaves names alone that are no chunk's", async () => {
  const files = { "main.js": 'load("other-ABCDEFGH.js")', "check_worker.js": "1" };
  assert.deepEqual(await named(files), files);
});
