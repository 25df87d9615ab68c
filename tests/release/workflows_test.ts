import assert from "node:assert/strict";
import { parse } from "yaml";

const folder = new URL("../../.github/workflows/", import.meta.url);
const files = [...Deno.readDirSync(folder)].map(({ name }) => name);

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly "timeout-minutes"?: number;
  readonly steps: readonly {
    readonly uses?: string;
    readonly run?: string;
    readonly with?: Record<string, unknown>;
  }[];
}

for (const name of files) {
  const text = await Deno.readTextFile(new URL(name, folder));
  const workflow: Workflow = parse(text);
  const jobs = Object.entries(workflow.jobs);
  const steps = jobs.flatMap(([, { steps }]) => steps);

  Deno.test(`${name}: each action is pinned by its digest, and its version stands beside it`, () => {
    const lines = text.split("\n").filter((line) => /\buses:/.test(line));
    assert.equal(lines.length, steps.filter(({ uses }) => uses !== undefined).length);
    for (const line of lines) assert.match(line, /uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  Deno.test(`${name}: jobs read the repository, and only the one that publishes may write`, () => {
    for (const permission of Object.values(workflow.permissions)) assert.equal(permission, "read");
    for (const [job, { permissions = {}, "timeout-minutes": minutes }] of jobs) {
      if (job !== "publish") {
        assert.deepEqual(Object.values(permissions).filter((each) => each !== "read"), [], job);
      }
      assert.ok(minutes !== undefined, `${job} has no timeout`);
    }
    for (const { uses, with: inputs } of steps) {
      if (uses?.startsWith("actions/checkout@")) assert.equal(inputs?.["persist-credentials"], false);
    }
  });

  Deno.test(`${name}: what others can name reaches a script through its environment alone`, () => {
    for (const { run = "" } of steps) assert.doesNotMatch(run, /\$\{\{/);
  });
}
