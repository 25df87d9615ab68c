import assert from "node:assert/strict";
import { type Change, createChanges } from "../../src/tool_server/changes.ts";

const local = { kind: "local" } as const;

Deno.test("publish() tells of a resource those alone who asked for it, and of lists everybody", () => {
  const changes = createChanges();
  const told: [string, Change][] = [];
  const listen = (who: string) => (change: Change) => void told.push([who, change]);
  const end = changes.subscribe(listen("a"), { principal: local, uris: ["x:1", "x:2"] });
  changes.subscribe(listen("b"), { principal: local, uris: [] });
  changes.subscribe(listen("c"));
  changes.publish({ kind: "resource", uri: "x:2" });
  changes.publish({ kind: "tools" });
  end();
  changes.publish({ kind: "resource", uri: "x:2" });
  changes.publish({ kind: "prompts" });
  const resource = { kind: "resource", uri: "x:2" };
  assert.deepEqual(told, [
    ["c", resource],
    ["a", resource],
    ["a", { kind: "tools" }],
    ["b", { kind: "tools" }],
    ["c", { kind: "tools" }],
    ["c", resource],
    ["b", { kind: "prompts" }],
    ["c", { kind: "prompts" }],
  ]);
});

Deno.test("watchSubscribers() tells of each one who begins and ends to ask for resources", () => {
  const changes = createChanges();
  const counts: number[] = [];
  const stop = changes.watchSubscribers(() => counts.push(changes.subscribers().length));
  const ends = [1, 2].map((n) => changes.subscribe(() => {}, { principal: local, uris: [`x:${n}`] }));
  changes.subscribe(() => {});
  for (const end of [...ends, ...ends]) end();
  assert.deepEqual(counts, [1, 2, 1, 0]);
  stop();
  changes.subscribe(() => {}, { principal: local, uris: ["x:1"] });
  assert.deepEqual(counts, [1, 2, 1, 0]);
  assert.deepEqual(changes.subscribers().map(({ uris }) => uris), [["x:1"]]);
});
