import assert from "node:assert/strict";

/**
 * Words that names no longer hold, with what to say instead: docs/architecture.md has the words that they do. A name is
 * split at its capitals and underscores. Prose and strings are free.
 */
const retired: Readonly<Record<string, string>> = {
  "arm": "search, or retriever",
  "arms": "searches",
  "coarse timeout": "deadline",
  "deed": "action",
  "demand text": "what it does: require text",
  "ending": "end, suffix or error",
  "endings": "ends, suffixes or errors",
  "era": "generation",
  "failure": "error",
  "failures": "errors",
  "finding": "result",
  "findings": "results",
  "foreign part": "what it is",
  "growth": "value size",
  "narrowed settings": "clamped settings",
  "outcome": "result",
  "outcomes": "results",
  "paced body": "body in pieces",
  "replaced settings": "deprecated settings",
  "said text": "message text",
  "share the thread": "yield",
  "shared flight": "single flight",
  "tallies": "counts",
  "tally": "counts",
  "turn": "history; queue or lock",
  "turns": "history; queue or lock",
  "verdict": "result",
  "verdicts": "results",
};

/** Fields that programs see: of audit lines and of `-doctor -json`. */
const fields: ReadonlySet<string> = new Set(["outcome", "finding"]);
const fieldParents = ["Property", "MemberExpression", "TSPropertySignature"];

const root = new URL("../../", import.meta.url);

Deno.test("no name and no file name holds a word that is retired", async () => {
  const faults: string[] = [];
  for await (const path of sources()) {
    const names = namesIn(path, await Deno.readTextFile(new URL(path, root)));
    for (const name of [...path.split(/[/.]/), ...names]) {
      const word = retiredWordIn(name);
      if (word !== undefined) faults.push(`${path}: ${name} (not "${word}" but ${retired[word]})`);
    }
  }
  assert.deepEqual(faults, []);
});

Deno.test("a name is split at its capitals and underscores", () => {
  for (const name of ["keywordArm", "ArmName", "keyword_arm", "ARM", "createSharedFlight", "HTTPVerdict"]) {
    assert.notEqual(retiredWordIn(name), undefined, name);
  }
  for (const name of ["charm", "armour", "returns", "shared", "flight", "singleFlight", "veranda"]) {
    assert.equal(retiredWordIn(name), undefined, name);
  }
});

Deno.test("names are found, strings and prose are not", () => {
  const text =
    "// an arm\nconst arm = 'a verdict';\ntype Verdict = { turn: `turns ${string}`, outcome: string };";
  assert.deepEqual(namesIn("a.ts", text), ["arm", "Verdict", "turn"]);
});

function retiredWordIn(name: string): string | undefined {
  const words = name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g)?.map((word) => word.toLowerCase()) ?? [];
  const text = ` ${words.join(" ")} `;
  return Object.keys(retired).find((word) => text.includes(` ${word} `));
}

/** The different identifiers of a source file, in order. */
function namesIn(path: string, text: string): string[] {
  const names = new Set<string>();
  const plugin: Deno.lint.Plugin = {
    name: "names",
    rules: {
      names: {
        create: () => ({
          Identifier({ name, parent }) {
            if (!fields.has(name) || !fieldParents.includes(parent.type)) names.add(name);
          },
          PrivateIdentifier: ({ name }) => void names.add(name),
        }),
      },
    },
  };
  Deno.lint.runPlugin(plugin, path, text);
  return [...names];
}

async function* sources(folder = ""): AsyncGenerator<string> {
  const top = ["src", "tests", "bench", "tools"];
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder || ".", root))) {
    if (folder === "" && name !== "main.ts" && !top.includes(name)) continue;
    // the site has its packages below tools/
    if (name === "node_modules") continue;
    if (isDirectory) yield* sources(`${folder}${name}/`);
    else if (name.endsWith(".ts")) yield folder + name;
  }
}
