import assert from "node:assert/strict";
import { type Change, createChanges } from "../../src/tool_server/changes.ts";

const local = { kind: "local" } as const;

Deno.test("publish() tells those who listen, and nobody who has ended", () => {
  const changes = createChanges();
  const told: [string, Change][] = [];
  const listen = (who: string) => (change: Change) => void told.push([who, change]);
  const end = changes.subscribe(listen("a"), { principal: local, uris: ["x:1", "x:2"] });
  changes.subscribe(listen("b"), { principal: local, uris: [] });
  changes.publish({ kind: "tools" });
  end();
  changes.publish({ kind: "prompts" });
  assert.deepEqual(told, [["a", { kind: "tools" }], ["b", { kind: "tools" }], ["b", { kind: "prompts" }]]);
});

Deno.test("watchSubscribers() tells of each one who begins and ends to ask for resources", () => {
  const changes = createChanges();
  const counts: number[] = [];
  const stop = changes.watchSubscribers(() => counts.push(changes.subscribers().length));
  const ends = [1, 2].map((n) => changes.subscribe(() => {}, { principal: local, uris: [`x:${n}`] }));
  for (const end of [...ends, ...ends]) end();
  assert.deepEqual(counts, [1, 2, 1, 0]);
  stop();
  changes.subscribe(() => {}, { principal: local, uris: ["x:1"] });
  assert.deepEqual(counts, [1, 2, 1, 0]);
  assert.deepEqual(changes.subscribers().map(({ uris }) => uris), [["x:1"]]);
});
