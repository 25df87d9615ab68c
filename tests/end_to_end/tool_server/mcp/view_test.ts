import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { Browser } from "playwright-core";
import { assertHas } from "../../../support/assert_has.ts";
import { testWithChromium } from "../../../support/chromium.ts";
import { databaseEntry, startConfiguredServer } from "../../../support/configured_server.ts";
import { createTestDatabase } from "../../../support/database.ts";
import { openViewHost, type ViewHost, type ViewHostOptions } from "../../../support/view_host.ts";

const uri = "ui://postern/result";

const tables = `
  CREATE TABLE sales (city text, orders int, revenue numeric(10, 2));
  INSERT INTO sales VALUES ('Zug', 9, 90.50), ('Bern', 120, 1234.00), ('Chur', 22, NULL), ('Genf', 3, -20);
  CREATE TYPE mood AS ENUM ('glad');
  CREATE TABLE visits (day date, visitors int);
  INSERT INTO visits SELECT '2026-01-01'::date + n, 100 + n * n % 17 FROM generate_series(0, 89) n;
  CREATE TABLE hostile ("<b>name</b>" text, bidi text, long text, nothing text);
  INSERT INTO hostile VALUES (
    '<img src="http://127.0.0.1:1/x" onerror="document.title = 1"><script>document.title = 2</script>',
    E'photo\\u202egpj.exe', repeat('long ', 20000), NULL);
`;

/** The running server's view in a host, and its results. */
async function openServersView(browser: Browser, options: Partial<ViewHostOptions> = {}) {
  await using cleanup = new AsyncDisposableStack();
  const database = cleanup.use(await createTestDatabase());
  await database.query(tables);
  const running = cleanup.use(
    await startConfiguredServer(`databases: [${databaseEntry("shop", database.name)}]`),
  );
  const callTool = async ({ name, arguments: args }: { name: string; arguments: unknown }) =>
    (await running.client.request("tools/call", { name, arguments: args })).result;
  const { result } = await running.client.request("resources/read", { uri });
  const host = cleanup.use(
    await openViewHost(browser, {
      html: result.contents[0].text,
      capabilities: { serverTools: {} },
      callTool,
      ...options,
    }),
  );
  const kept = cleanup.move();
  return {
    ...host,
    async query(args: { query: string; limit?: number }): Promise<void> {
      await host.notify("ui/notifications/tool-input", { arguments: args });
      await host.notify(
        "ui/notifications/tool-result",
        await callTool({ name: "query_database", arguments: args }),
      );
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

function assertQuiet({ requests, complaints }: ViewHost): void {
  assert.deepEqual(requests, []);
  assert.deepEqual(complaints, []);
}

/** The value of an expression in the view. */
async function inView({ page }: ViewHost, expression: string): Promise<unknown> {
  const frame = page.frames()[1];
  assert.ok(frame !== undefined);
  return await frame.evaluate(expression);
}

async function columnTexts({ view }: ViewHost, column: number): Promise<string[]> {
  return await view.locator(`tbody td:nth-child(${column})`).allInnerTexts();
}

Deno.test("the view is a resource of its own, which query_database names", async () => {
  await using running = await startConfiguredServer("databases: []");
  const { client, server, token } = running;
  const ui = {
    csp: { connectDomains: [], resourceDomains: [], frameDomains: [], baseUriDomains: [] },
    prefersBorder: true,
  };
  const expected = { uri, mimeType: "text/html;profile=mcp-app", _meta: { ui } };
  const tool = { name: "query_database", _meta: { ui: { resourceUri: uri } } };

  const initialized = await client.request("initialize", { protocolVersion: "2025-11-25" });
  assert.deepEqual(initialized.result.capabilities.extensions, { "io.modelcontextprotocol/ui": {} });
  const { result: { tools } } = await client.request("tools/list", {});
  assertHas(tools.find(({ name }: { name: string }) => name === tool.name), tool);
  const { result: { contents } } = await client.request("resources/read", { uri });
  assertHas(contents, [expected]);
  assert.match(contents[0].text, /^<!DOCTYPE html>\n/);

  const http = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp/v1`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  const sdk = new Client({ name: "test", version: "1" });
  await sdk.connect(http);
  assertHas(sdk.getServerCapabilities(), { extensions: { "io.modelcontextprotocol/ui": {} } });
  assertHas((await sdk.listTools()).tools.find(({ name }) => name === tool.name), tool);
  assertHas((await sdk.listResources()).resources.find((resource) => resource.uri === uri), expected);
  assert.deepEqual((await sdk.readResource({ uri })).contents, contents);
  await sdk.close();
});

Deno.test("models are not told of the view", async () => {
  await using running = await startConfiguredServer("databases: []");
  const { data, text } = await running.client.call("read_resource", {});
  assert.match(text, /pg:\/\/databases/);
  assert.doesNotMatch(JSON.stringify([data, text]), /ui:\/\//);
});

Deno.test("builtins switch the view off", async () => {
  await using running = await startConfiguredServer("builtins: { resources: { view: false } }");
  const { result } = await running.client.request("tools/list", {});
  assert.ok(result.tools.every((tool: Record<string, unknown>) => !("_meta" in tool)));
  const { error } = await running.client.request("resources/read", { uri });
  assert.equal(error.code, -32602);
});

testWithChromium("the view introduces itself, and shows rows that their headings sort", async (browser) => {
  await using host = await openServersView(browser);
  const { view } = host;
  await host.query({ query: "SELECT city, orders, revenue FROM sales" });
  await view.getByRole("status").getByText("4 rows").waitFor();
  assertHas((await host.messages()).slice(0, 2), [
    {
      method: "ui/initialize",
      params: {
        appInfo: { name: "postern" },
        appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
        protocolVersion: "2026-01-26",
      },
    },
    { method: "ui/notifications/initialized", params: {} },
  ]);
  assert.deepEqual(await columnTexts(host, 2), ["9", "120", "22", "3"]);

  // by the keyboard: upwards, downwards, as they came; what has no value goes last
  const heading = view.getByRole("columnheader", { name: "revenue" });
  await heading.getByRole("button").focus();
  for (
    const [sort, texts] of [
      ["ascending", ["-20.00", "90.50", "1234.00", "NULL"]],
      ["descending", ["1234.00", "90.50", "-20.00", "NULL"]],
      ["none", ["90.50", "1234.00", "NULL", "-20.00"]],
    ] as const
  ) {
    await host.page.keyboard.press("Enter");
    assert.equal(await heading.getAttribute("aria-sort"), sort);
    assert.deepEqual(await columnTexts(host, 3), texts);
  }
  await view.getByRole("region", { name: "Rows" }).and(view.locator("[tabindex='0']")).waitFor();
  await view.getByRole("table", { name: /^Rows/ }).waitFor();
  assert.deepEqual(await host.request("ui/resource-teardown"), { jsonrpc: "2.0", id: 1, result: {} });
  assert.deepEqual(await host.request("ui/other"), {
    jsonrpc: "2.0",
    id: 2,
    error: { code: -32601, message: "Method not found" },
  });
  assertQuiet(host);
});

testWithChromium(
  "names of columns stand in one line, whether a type is below them or not",
  async (browser) => {
    await using host = await openServersView(browser);
    await host.query({ query: "SELECT 'glad'::mood AS feeling, city, orders FROM sales" });
    const names = host.view.locator("th .name");
    await names.first().waitFor();
    const tops = await names.evaluateAll((all) => all.map((name) => name.getBoundingClientRect().top));
    assert.equal(tops.length, 3);
    assert.deepEqual([...new Set(tops)], tops.slice(0, 1));
  },
);

testWithChromium("rows that suit one are drawn too", async (browser) => {
  await using host = await openServersView(browser, { context: { locale: "en-GB" } });
  const { view } = host;
  await host.query({ query: "SELECT city, orders, revenue FROM sales ORDER BY city" });
  await view.getByRole("img", { name: "Bar chart of orders by city, 4 values, which the table has" })
    .waitFor();
  assert.equal(await view.locator(".bar").count(), 4);
  await view.getByRole("combobox", { name: "Column to draw" }).selectOption("revenue");
  await view.getByRole("img", { name: /^Bar chart of revenue/ }).waitFor();
  const widths = await inView(host, "[...document.querySelectorAll('.bar')].map(({ style }) => style.width)");
  // NULL has none
  assert.deepEqual(widths, ["98.4051%", "1.5949%", "7.21691%"]);

  await host.query({ query: "SELECT day, visitors FROM visits ORDER BY day" });
  await view.getByRole("img", { name: /^Line chart of visitors by day, 90 values/ }).waitFor();
  assert.equal((await view.locator(".curve").getAttribute("d"))?.match(/[ML]/g)?.length, 90);
  const labels = (await view.locator("svg text").allTextContents()).filter((text) => /[A-Z]/.test(text));
  assert.equal(labels[0], "1 Jan 2026");
  assert.ok(labels.length > 2 && labels.slice(1).every((text) => /^\d+ \w+$/.test(text)), labels.join(" | "));

  await host.query({ query: "SELECT day, visitors, 'x' AS text FROM visits" });
  await view.getByRole("columnheader", { name: "text" }).first().waitFor();
  assert.equal(await view.getByRole("img").count(), 0);
  assertQuiet(host);
});

testWithChromium("a person gets the next rows, where the host lets the view call tools", async (browser) => {
  await using host = await openServersView(browser);
  const next = host.view.getByRole("button", { name: "Next 40 rows" });
  await host.query({ query: "SELECT day, visitors FROM visits ORDER BY day", limit: 40 });
  await host.view.getByText("40 rows, more available").waitFor();
  // no script does
  await inView(host, "document.querySelector('.next').click()");
  await next.click();
  await host.view.getByText("80 rows, more available").waitFor();
  await next.click();
  await host.view.getByRole("status").getByText(/^90 rows$/).waitFor();
  assert.equal(await next.count(), 0);
  assert.deepEqual((await columnTexts(host, 1)).at(-1), "2026-03-31");
  const calls = (await host.messages()).filter(({ method }) => method === "tools/call");
  const query = "SELECT day, visitors FROM visits ORDER BY day";
  assert.deepEqual(calls.map(({ params }) => params), [
    { name: "query_database", arguments: { query, limit: 40, offset: 40, database: "shop" } },
    { name: "query_database", arguments: { query, limit: 40, offset: 80, database: "shop" } },
  ]);
  assertQuiet(host);
});

testWithChromium(
  "a host that refuses is heard, and one that lets views call nothing is not asked",
  async (browser) => {
    const callTool = () => Promise.reject(new Error("the user said no"));
    await using refusing = await openServersView(browser, { callTool: callTool });
    const query = { query: "SELECT day FROM visits", limit: 10 };
    const shown = { columns: [{ name: "day", type: "date" }], rows: [["2026-01-01"]], sql: query.query };
    const result = { content: [], structuredContent: { ...shown, truncated: true, next_offset: 1 } };
    await refusing.notify("ui/notifications/tool-result", result);
    await refusing.view.getByRole("button", { name: "Next 100 rows" }).click();
    await refusing.view.getByRole("alert").getByText("Cannot get the next rows: the user said no").waitFor();
    await refusing.view.getByText(/no ORDER BY/).waitFor();

    await using mute = await openServersView(browser, { capabilities: {} });
    await mute.notify("ui/notifications/tool-result", result);
    await mute.view.getByText("1 row, more available").waitFor();
    assert.equal(await mute.view.getByRole("button", { name: /^Next/ }).count(), 0);
  },
);

testWithChromium("what stands in rows is text, whatever it says", async (browser) => {
  await using host = await openServersView(browser);
  const { view } = host;
  await host.query({ query: "SELECT * FROM hostile" });
  const cell = (column: number) => view.locator(`tbody td:nth-child(${column})`);
  assert.equal(
    await cell(1).innerText(),
    '<img src="http://127.0.0.1:1/x" onerror="document.title = 1"><script>document.title = 2</script>',
  );
  assert.equal(await view.locator("img, td script, th b, a").count(), 0);
  assert.equal(await view.locator("title").innerHTML(), "Result");
  assert.equal(await view.getByRole("columnheader").first().locator(".name").innerText(), "<b>name</b>");
  assert.equal(await cell(2).innerText(), "photoU+202Egpj.exe");
  assert.equal(await cell(4).innerText(), "NULL");
  assert.equal(await cell(4).getAttribute("class"), "category null");

  assert.ok((await cell(3).innerText()).length < 250);
  const more = cell(3).getByRole("button");
  assert.equal(await more.getAttribute("aria-expanded"), "false");
  await view.getByRole("button", { name: "All 100,000 characters of long" }).press("Enter");
  assert.equal(await more.getAttribute("aria-expanded"), "true");
  assert.ok((await cell(3).innerText()).length > 100_000);

  // nothing of it makes the view larger than it may be, or has it say anything
  const messages = await host.messages();
  assert.deepEqual(
    new Set(messages.map(({ method }) => method)),
    new Set([
      "ui/initialize",
      "ui/notifications/initialized",
      "ui/notifications/size-changed",
    ]),
  );
  const heights = messages.flatMap(({ params }) =>
    typeof params["height"] === "number" ? [params["height"]] : []
  );
  assert.ok(heights.length >= 2 && heights.every((height) => height <= 720), String(heights));
  // another window is not heard
  await inView(host, `postMessage({ jsonrpc: "2.0", method: "ui/notifications/tool-cancelled" }, "*")`);
  await host.request("ping");
  assert.equal(await view.getByRole("table").count(), 1);
  assertQuiet(host);
  // the policy in the page holds: no text becomes HTML, and nothing is asked for
  await assert.rejects(inView(host, "document.body.innerHTML = '<p>'"), /TrustedHTML/);
  await assert.rejects(inView(host, "fetch('http://127.0.0.1:1/')"), /Failed to fetch/);
  assert.deepEqual(host.requests, []);
});

testWithChromium("errors, questions and a call that was cancelled are shown as text", async (browser) => {
  await using host = await openServersView(browser);
  await host.query({ query: "DELETE FROM sales" });
  await host.view.getByRole("alert").getByText("Cannot run the statement").waitFor();
  await host.notify("ui/notifications/tool-result", {
    content: [],
    structuredContent: { question: "Which <b>year</b>?" },
  });
  await host.view.getByText("Which <b>year</b>?", { exact: true }).waitFor();
  await host.notify("ui/notifications/tool-cancelled", { reason: "user" });
  await host.view.getByRole("status").getByText("The call was cancelled.").waitFor();
  assertQuiet(host);
});

testWithChromium("the view looks as the host wants it to", async (browser) => {
  await using host = await openServersView(browser, {
    context: { theme: "dark", containerDimensions: { maxHeight: 150 } },
  });
  await host.query({ query: "SELECT city, orders FROM sales" });
  await host.view.getByRole("table").waitFor();
  const background = async () => {
    // messages come in their order: once this one is answered, those before it have come
    await host.request("ping");
    return await inView(host, "getComputedStyle(document.body).backgroundColor");
  };
  assert.equal(await background(), "rgb(28, 28, 31)");
  await host.notify("ui/notifications/host-context-changed", { theme: "light" });
  assert.equal(await background(), "rgb(255, 255, 255)");
  // one colour of the host's alone could not be read on the view's own
  const styled = (variables: Record<string, string>) =>
    host.notify("ui/notifications/host-context-changed", { styles: { variables } });
  await styled({ "--color-background-primary": "rgb(1, 2, 3)" });
  assert.equal(await background(), "rgb(255, 255, 255)");
  await styled({
    "--color-background-primary": "rgb(1, 2, 3)",
    "--color-text-primary": "rgb(250, 250, 250)",
  });
  assert.equal(await background(), "rgb(1, 2, 3)");
  const sizes = (await host.messages()).filter(({ method }) => method === "ui/notifications/size-changed");
  assert.deepEqual(sizes.at(-1)?.params, { width: 800, height: 150 });
  assertQuiet(host);
});
