import assert from "node:assert/strict";
import { shippedPackages } from "../../tools/release/npm_packages.ts";
import { thirdPartyNotices } from "../../tools/release/third_party_notices.ts";

const root = new URL("../../", import.meta.url);

Deno.test("a release names what the console's page is made of, with its licences", async () => {
  const packages = await shippedPackages([], root);
  const names = packages.map(({ name }) => name);
  assert.ok(
    ["preact", "@codemirror/view", "@lezer/common"].every((name) => names.includes(name)),
    names.join(),
  );
  assert.ok(!names.includes("zod"), "of which the page takes types alone");
  assert.deepEqual(packages.filter(({ licence }) => licence !== "MIT"), []);
  const notices = await thirdPartyNotices(packages, root);
  assert.match(notices, /^preact 11[^]*Copyright[^]*Jason Miller/m);
});
