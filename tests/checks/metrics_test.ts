import assert from "node:assert/strict";
import { parse } from "yaml";
import { ingestRows, serverRows } from "../../tools/metrics_page.ts";
import { createConfigFolder } from "../support/configured_server.ts";
import { scrape } from "../support/scrape.ts";
import { startServer } from "../support/server_process.ts";

const read = (path: string) => Deno.readTextFile(new URL(`../../${path}`, import.meta.url));

Deno.test("docs/metrics.md has every metric", async () => {
  const rows = (await read("docs/metrics.md")).split("\n").filter((line) =>
    /^\| `(postern|process)_/.test(line)
  )
    .map((line) => line.slice(1, -1).split("|").map((cell) => cell.trim()));
  assert.deepEqual(
    rows,
    [...serverRows(), ...ingestRows()],
    "run: deno run -A tools/build_metrics_page.ts && deno fmt docs",
  );
});

Deno.test("docs/metrics.md says which values each label has", async () => {
  const rest = (await read("docs/metrics.md")).replaceAll(/^\| `(?:postern|process)_.*$/gm, "");
  const labels = [...serverRows(), ...ingestRows()].flatMap(([, , of = ""]) => of.match(/\w+/g) ?? []);
  assert.deepEqual([...new Set(labels)].filter((label) => !rest.includes(`\`${label}\``)), []);
});

Deno.test("every metric of a server is counted somewhere", async () => {
  const source = await read("src/core/metrics/server_metrics.ts");
  const [made = "", given = ""] = source.split("\n  return {\n");
  // what each member of the returned object is made of
  const members = given.split(/^ {4}(?=\w)/m).map((text) => [/^\w+/.exec(text)?.[0] ?? "", text] as const);
  const uses: string[] = [];
  async function readFolder(folder: URL): Promise<void> {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      if (isDirectory) await readFolder(new URL(`${name}/`, folder));
      else if (name !== "server_metrics.ts") uses.push(await Deno.readTextFile(new URL(name, folder)));
    }
  }
  await readFolder(new URL("../../src/", import.meta.url));
  const isUsed = (member: string) =>
    uses.some((text) => new RegExp(`\\b(?:metrics|serverMetrics)\\??\\.${member}\\b`).test(text));
  const names = [...made.matchAll(/^ {4}(\w+): create\w+\(/gm)].map(([, name = ""]) => name);
  assert.ok(names.length > 30);
  const holds = (text: string, name: string) => new RegExp(`\\b${name}\\b`).test(text);
  const idle = names.filter((name) =>
    !isUsed(name) &&
    !members.some(([member, text]) =>
      (holds(text, `made.${name}`) || (name === "stages" && holds(text, "stage"))) && isUsed(member)
    )
  );
  assert.deepEqual(idle, [], "nothing counts these");
});

Deno.test("the dashboard and the alert rules ask for metrics and labels that a running server has", async () => {
  const rules = parse(await read("packaging/prometheus/postern_alerts.yaml")) as {
    groups: { rules: { alert: string; expr: string; annotations: object }[] }[];
  };
  const dashboard = JSON.parse(await read("packaging/grafana/postern_dashboard.json")) as {
    panels: { title: string; targets?: { expr: string; legendFormat: string }[] }[];
    templating: { list: { query: string | { query: string } }[] };
  };
  const asked = [
    ...rules.groups.flatMap((group) => group.rules).map(({ alert, expr, annotations }) =>
      [alert, expr, JSON.stringify(annotations)] as const
    ),
    ...dashboard.panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr, legendFormat }) => [title, expr, legendFormat] as const)
    ),
    ...dashboard.templating.list.flatMap(({ query }) =>
      typeof query === "string" ? [] : [["a variable", query.query, ""] as const]
    ),
  ];
  assert.ok(asked.length > 40);

  await using folder = await createConfigFolder("metrics: { address: 127.0.0.1:0 }");
  await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  const { types: served } = await scrape(server);
  const named = ([name = "", , labels = ""]: string[]) =>
    [name.replaceAll("`", ""), labels.match(/\w+/g) ?? []] as const;
  assert.deepEqual([...served.keys()].toSorted(), serverRows().map((row) => named(row)[0]).toSorted());
  const labels = new Map([...serverRows(), ...ingestRows()].map(named));
  const types = new Map([...served, ...ingestRows().map((row) => [named(row)[0], "gauge"] as const)]);
  for (const [where, expr, text] of asked) {
    const names = [...expr.matchAll(/\b(?:postern|process)_\w+/g)].map(([name]) => familyOf(name, types));
    const known = ["instance", "job", "le", ...names.flatMap((name) => labels.get(name) ?? [])];
    const used = [
      ...[...expr.matchAll(/(\w+)(?==~|!~|!=|=")/g)].map(([, label = ""]) => label),
      ...[...expr.matchAll(/\b(?:by|on|group_left) ?\(([^)]*)\)/g)].flatMap(([, list = ""]) =>
        list.match(/\w+/g) ?? []
      ),
      ...[...text.matchAll(/\{\{ ?(?:\$labels\.)?(\w+) ?\}\}/g)].map(([, label = ""]) => label),
    ];
    for (const label of used) assert.ok(known.includes(label), `${where}: ${label} is no label of ${names}`);
  }
});

/** The family that a name in an expression is of: a histogram has several names. */
function familyOf(name: string, types: ReadonlyMap<string, string>): string {
  const base = name.replace(/_(bucket|sum|count)$/, "");
  if (types.get(base) === "histogram" && base !== name) return base;
  assert.ok(types.has(name) && types.get(name) !== "histogram", `${name} is no metric`);
  return name;
}
