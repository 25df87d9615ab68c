import assert from "node:assert/strict";
import { createPages } from "../../../src/identity/authorization_server/pages.ts";

Deno.test("a button's text can be read on the operator's colours", () => {
  const cases = [
    ["#0B7285", "#fff"],
    ["#0C5460", "#fff"],
    ["#15AABF", "#000"],
    ["#ffe100", "#000"],
    ["#FFF", "#000"],
    ["#000", "#fff"],
  ] as const;
  for (const [colour, text] of cases) {
    const pages = createPages({
      title: "Sign in",
      colour,
      hasLogo: false,
      staticPath: "/oauth/static",
    });
    const { html } = pages.error(400, "no");
    assert.ok(html.includes(`color:${text};background:${colour};border`), colour);
  }
});
