import assert from "node:assert/strict";
import { readRobots } from "../../../../src/rag_server/ingest/sources/robots_rules.ts";

const robots = `# for all
User-agent: other
User-Agent: *
Disallow: /private/ # not this
Allow: /private/open
Disallow: /*.pdf$
Disallow: /a*b*c
Disallow:

user-agent: Greedy
Disallow: /
`;

Deno.test("readRobots() lets the longest rule decide, with * and $", () => {
  const mayRead = readRobots(robots);
  for (const path of ["/", "/private", "/private/open/x", "/x.pdf?download", "/acb", "/Private/"]) {
    assert.equal(mayRead(path), true, path);
  }
  for (const path of ["/private/", "/private/x", "/x/y.pdf", "/a/b/c", "/abcd"]) {
    assert.equal(mayRead(path), false, path);
  }
});

Deno.test("readRobots() takes the group for us before that for everybody, and nothing for no rule", () => {
  const mayRead = readRobots(
    `${robots}\nUser-agent: Postern\nDisallow: /ours\nAllow: /ours\nDisallow: /ours/x`,
  );
  assert.deepEqual(["/private/", "/ours", "/ours/x"].map(mayRead), [true, true, false]);
  assert.equal(readRobots("")("/"), true);
  assert.equal(readRobots("<html>\nDisallow: /\n")("/"), true);
});

Deno.test("readRobots() is not held up by a rule with many stars", () => {
  const mayRead = readRobots(`User-agent: *\nDisallow: /${"*a".repeat(5_000)}$`);
  assert.equal(mayRead(`/${"a".repeat(4_000)}b`), true);
});
