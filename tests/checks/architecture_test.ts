import assert from "node:assert/strict";

const root = new URL("../../", import.meta.url);
const page = await Deno.readTextFile(new URL("docs/architecture.md", root));
const files = await filesIn("src/");

async function filesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder, root))) {
    if (isDirectory) found.push(...await filesIn(`${folder}${name}/`));
    else if (name.endsWith(".ts")) found.push(folder + name);
  }
  return found;
}

function fileCount(path: string): number {
  return files.filter((file) => file.endsWith(`/${path}.ts`)).length;
}

Deno.test("no two files of src have the same name, but for the faces of rooms", () => {
  const names = files.map((file) => file.slice(file.lastIndexOf("/") + 1)).filter((name) =>
    name !== "mod.ts"
  );
  assert.deepEqual(names.filter((name, at) => names.indexOf(name) !== at), []);
});

Deno.test("each path in the ways of requests is that of one file", () => {
  const ways = [...page.matchAll(/^```\n(.*?)^```$/gms)].map(([, block = ""]) => block).slice(1);
  const paths = ways.flatMap((way) => way.match(/(?<![\w/])\w+(?:\/\w+)+(?![\w/])/g) ?? []);
  assert.ok(ways.length >= 5 && paths.length > 60, `${ways.length} ways, ${paths.length} paths`);
  assert.deepEqual(paths.filter((path) => fileCount(path) !== 1), []);
});

Deno.test("each line of a way begins with a path", () => {
  const [, ...ways] = page.matchAll(/^```\n(.*?)^```$/gms);
  const lines = ways.flatMap(([, block = ""]) => block.trimEnd().split("\n"));
  assert.deepEqual(lines.filter((line) => !/^ *\w+\/[\w/…]+ {2,}\S|^\w+\/\w+$/.test(line)), []);
});

Deno.test("each path of the table of decisions is that of one file", () => {
  const table = page.split("## Where it is decided")[1]?.split("\n## ")[0] ?? "";
  const rows = table.split("\n").slice(4).filter((line) => line.startsWith("|"));
  const paths = rows.flatMap((row) =>
    Array.from(row.split("|")[2]?.matchAll(/`([^`]+)`/g) ?? [], ([, path = ""]) => path)
  );
  assert.ok(rows.length > 60 && paths.length >= rows.length, `${rows.length} rows, ${paths.length} paths`);
  assert.deepEqual(paths.filter((path) => fileCount(path) !== 1), []);
});
