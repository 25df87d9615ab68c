import assert from "node:assert/strict";
import { viewHtml } from "../../../src/tool_server/view/view_html.ts";
import { viewPage } from "../../../tools/view_page.ts";

Deno.test("the page is the one that its sources make", async () => {
  assert.equal(viewHtml, await viewPage(), "run: deno run -A tools/build_view.ts");
});

Deno.test("the page is small, in ASCII, and leads nowhere", () => {
  assert.ok(viewHtml.length < 30_000, `${viewHtml.length} bytes`);
  assert.match(viewHtml, /^[\n\x20-\x7e]+$/);
  assert.deepEqual(viewHtml.match(/https?:\/\/[^"' )]+/g), ["http://www.w3.org/2000/svg"]);
  assert.deepEqual(
    viewHtml.match(/(?:\bsrc=|\b(?:href|innerHTML|outerHTML|insertAdjacentHTML|eval|url)\b)/g),
    null,
  );
});
