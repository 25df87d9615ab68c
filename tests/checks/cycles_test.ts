import assert from "node:assert/strict";
import { resolve, visitImports } from "../../tools/lint_rooms.ts";

Deno.test("no file of src imports itself by way of others, not even for a type", async () => {
  const root = new URL("../../", import.meta.url);
  const sources = new Map<string, string>();
  async function read(path: string): Promise<void> {
    sources.set(path, await Deno.readTextFile(new URL(path, root)));
  }
  async function readFolder(folder: string): Promise<void> {
    for await (const { name, isDirectory } of Deno.readDir(new URL(folder, root))) {
      if (isDirectory) await readFolder(`${folder}${name}/`);
      else if (name.endsWith(".ts")) await read(folder + name);
    }
  }
  await read("main.ts");
  await readFolder("src/");
  assert.deepEqual(circlesIn(sources), []);
});

Deno.test("a circle is found in whatever form the imports are, and told once, in order", () => {
  const source = (text: string) =>
    circlesIn(new Map([["a/one.ts", text], ["two.ts", 'import "./a/one.ts";']]));
  for (
    const text of [
      'import "../two.ts";',
      'import two from "../two.ts";',
      'import type { Two } from "../two.ts";',
      'export { two } from "../two.ts";',
      'export type { Two } from "../two.ts";',
      'export * from "../two.ts";',
      'const two = await import("../two.ts");',
      'let two: import("../two.ts").Two<string>;',
      'let two: typeof import("../two.ts");',
    ]
  ) assert.deepEqual(source(text), ["a/one.ts → two.ts → a/one.ts"], text);
  assert.deepEqual(source('// import "../two.ts";\nconst text = `import "../two.ts";`;'), []);
});

Deno.test("every file in a circle is in one that is told, by the shortest way around", () => {
  const graph = {
    main: ["a", "d"],
    a: ["b", "elsewhere"],
    b: ["c"],
    c: ["a", "d"],
    d: ["e", "f"],
    e: ["f", "d"],
    f: ["e"],
    own: ["own"],
  };
  const sources = Object.entries(graph).map(([name, targets]): [string, string] => [
    `${name}.ts`,
    targets.map((target) => `import "./${target}.ts";\n`).join(""),
  ]);
  assert.deepEqual(circlesIn(new Map(sources)), [
    "a.ts → b.ts → c.ts → a.ts",
    "d.ts → e.ts → d.ts",
    "e.ts → f.ts → e.ts",
    "own.ts → own.ts",
  ]);
});

/** For each file in a circle the shortest one through it, told once, from the first name in it on. */
function circlesIn(sources: ReadonlyMap<string, string>): string[] {
  const graph = new Map([...sources].map(([path, source]) => [path, importsOf(path, source)]));
  const circles = [...graph.keys()].flatMap((path) => {
    const circle = shortestCircle(graph, path);
    if (circle === undefined) return [];
    const first = circle.indexOf(circle.toSorted()[0] ?? path);
    const turned = [...circle.slice(first), ...circle.slice(0, first)];
    return [[...turned, ...turned.slice(0, 1)].join(" → ")];
  });
  return [...new Set(circles)].toSorted();
}

/** The files on the way from a file back to it, itself first. */
function shortestCircle(graph: ReadonlyMap<string, readonly string[]>, start: string): string[] | undefined {
  const ways = [[start]];
  const seen = new Set<string>();
  for (const way of ways) {
    for (const next of graph.get(way.at(-1) ?? start) ?? []) {
      if (next === start) return way;
      if (seen.has(next)) continue;
      seen.add(next);
      ways.push([...way, next]);
    }
  }
  return undefined;
}

function importsOf(path: string, source: string): string[] {
  const imports: string[] = [];
  const create = () =>
    visitImports((specifier) => {
      if (specifier.startsWith(".")) imports.push(resolve(path, specifier));
    });
  Deno.lint.runPlugin({ name: "imports", rules: { imports: { create } } }, path, source);
  return imports;
}
