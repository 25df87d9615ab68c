import assert from "node:assert/strict";
import { assertHas } from "../../support/assert_has.ts";
import { testWithChromium } from "../../support/chromium.ts";
import { testWithPgvectorServer } from "../../support/database.ts";
import { startServer } from "../../support/server_process.ts";
import { createToolClient } from "../../support/tool_client.ts";
import { openViewHost } from "../../support/view_host.ts";
import { createDocumentFolder } from "./document_servers.ts";

const answer = "You have annual leave: <i>25 days for all employees</i>. [1] [7]";

testWithChromium("an answer has its sources, and words that both share are marked", async (browser) => {
  await using fixture = await createDocumentFolder({}, answer);
  const { token } = await fixture.folder.addToken();
  await using server = await startServer([
    "-http",
    "-addr",
    "127.0.0.1:0",
    "-config",
    fixture.folder.configFile,
  ]);
  const { request } = createToolClient({ url: server.url, token });
  const { result: { tools } } = await request("tools/list", {});
  assertHas(tools.find(({ name }: { name: string }) => name === "ask_pipeline"), {
    _meta: { ui: { resourceUri: "ui://postern/result" } },
  });
  const { result: { contents } } = await request("resources/read", { uri: "ui://postern/result" });
  const asked = { pipeline: "handbook", question: "How much leave?", top_n: 2 };
  const { result } = await request("tools/call", { name: "ask_pipeline", arguments: asked });

  let refuses = true;
  const callTool = async ({ name, arguments: args }: { name: string; arguments: unknown }) => {
    if (refuses) throw new Error("the user said no");
    return (await request("tools/call", { name, arguments: args })).result;
  };
  const html = contents[0].text;
  await using host = await openViewHost(browser, { html, capabilities: { serverTools: {} }, callTool });
  await host.notify("ui/notifications/tool-result", result);
  await host.view.getByRole("heading", { name: "2 sources" }).waitFor();
  assert.equal(await host.view.locator(".answer > p").innerText(), answer);
  assert.equal(await host.view.locator("i, mark").count(), 0);

  // nothing is read before a person opens it, and what fails can be tried again
  const source = host.view.getByRole("listitem").filter({ hasText: "Annual leave is 25 days" }).first();
  await source.locator("summary").press("Enter");
  await source.getByRole("alert").getByText("Cannot read it: the user said no").waitFor();
  await source.locator("summary").click();
  refuses = false;
  await source.locator("summary").click();
  await source.locator("mark").waitFor();
  assert.equal(await source.locator("details p").innerText(), "Annual leave is 25 days for all employees.");
  assert.deepEqual(await source.locator("mark").allInnerTexts(), ["25 days for all employees"]);
  assert.deepEqual(await host.view.locator(".answer > p mark").allInnerTexts(), [
    "25 days for all employees",
  ]);
  const calls = (await host.messages()).filter(({ method }) => method === "tools/call");
  const call = { name: "fetch", arguments: { id: "handbook/1-1" } };
  assert.deepEqual(calls.map(({ params }) => params), [call, call]);
  assert.deepEqual([host.requests, host.complaints], [[], []]);

  // a citation leads to its source, where there is one
  assert.equal(await host.view.locator(".cite").count(), 1);
  const cited = host.view.getByRole("listitem").first();
  await host.view.getByRole("button", { name: "Source 1" }).click();
  await cited.locator("details[open] p").waitFor();
  assert.equal(await cited.locator("summary:focus").count(), 1);
  assert.deepEqual([host.requests, host.complaints], [[], []]);

  // where the host lets views call nothing, they are named
  await using mute = await openViewHost(browser, { html });
  await mute.notify("ui/notifications/tool-result", result);
  await mute.view.getByRole("listitem").filter({ hasText: "Annual leave is 25 days" }).first().waitFor();
  assert.equal(await mute.view.locator("details").count(), 0);
}, testWithPgvectorServer);
