import assert from "node:assert/strict";
import { password, writeUsers } from "../../support/accounts.ts";
import { testWithChromium } from "../../support/chromium.ts";
import { waitUntil } from "../../support/wait_until.ts";
import { openConsole, takeScreenshot } from "./open_console.ts";
import { createShop } from "./shop_server.ts";

testWithChromium(
  "tools, prompts and resources are used by forms, and clients connected",
  async (browser, t) => {
    await using shop = await createShop();
    await using server = await shop.serve();
    await using opened = await openConsole(browser, server.url, { route: "/use" });
    const { page, examine } = opened;
    const region = (name: string) => page.getByRole("region", { name, exact: true });
    const run = page.getByRole("button", { name: "Run", exact: true });
    const search = page.getByRole("searchbox", { name: "Search tools, prompts and resources" });
    /** What a box with a text holds. */
    const textOf = async (name: string) => await page.getByRole("group", { name, exact: true }).innerText();

    await t.step("a tool runs, and its request in a shell answers the same", async () => {
      await region("Tools").getByRole("link").first().waitFor();
      await examine("nothing chosen");
      await search.fill("zorblax");
      await page.getByRole("status").getByText("Nothing has this in its name or description.").waitFor();
      await search.fill("query_database");
      await region("Tools").getByRole("link", { name: /query_database/ }).click();
      await page.getByRole("textbox", { name: "query (needed)" }).fill(
        "SELECT 'it''s' AS word, 6 * 7 AS answer",
      );
      await page.getByRole("group", { name: "The request as a curl command" }).getByText("6 * 7 AS answer")
        .waitFor();
      const command = await textOf("The request as a curl command");
      await run.click();
      await region("Reply").getByText("Reply", { exact: true }).waitFor();
      await region("Reply").getByText("JSON", { exact: true }).click();
      const shown = JSON.parse(await textOf("The reply's JSON"));
      assert.deepEqual(shown.structuredContent.rows, [["it's", 42]]);
      const { stdout } = await new Deno.Command("sh", { args: ["-c", command] }).output();
      const { result } = JSON.parse(new TextDecoder().decode(stdout));
      assert.deepEqual(result.structuredContent, shown.structuredContent);
      await examine("a reply");
    });

    await t.step("an error is one, and a value of another type goes as it is", async () => {
      await page.getByRole("textbox", { name: "query (needed)" }).fill("DELETE FROM orders");
      await page.getByRole("spinbutton", { name: "limit" }).fill("5");
      await run.click();
      await region("Reply").getByText("Error", { exact: true }).waitFor();
      assert.deepEqual(opened.toolCalls().at(-1)?.arguments, { query: "DELETE FROM orders", limit: 5 });
      await examine("a refusal");
      await search.fill("");
    });

    await t.step("a prompt, a resource and a template of resources", async () => {
      const prompt = region("Prompts").getByRole("link").first();
      await prompt.click();
      await page.locator("form").waitFor();
      for (const box of await page.getByRole("textbox", { name: /\(needed\)$/ }).all()) {
        await box.fill("orders");
      }
      await run.click();
      await region("Reply").getByText("Reply", { exact: true }).waitFor();
      assert.match(await textOf("The reply's JSON"), /"messages"/);

      await region("Resources").getByRole("link", { name: /pg:\/\/databases/ }).first().click();
      await page.getByText("It takes no arguments.").waitFor();
      await run.click();
      await region("Reply").getByText("Reply", { exact: true }).waitFor();
      assert.match(await textOf("The reply's JSON"), /"contents"[^]*shop/);

      await region("Resources").getByRole("link", { name: /\{database\}\/\{schema\}\/\{table\}/ }).click();
      for (const [name, value] of Object.entries({ database: "shop", schema: "public", table: "orders" })) {
        await page.getByRole("textbox", { name: `${name} (needed)` }).fill(value);
      }
      await run.click();
      await region("Reply").getByText("Reply", { exact: true }).waitFor();
      assert.match(await textOf("The reply's JSON"), /customer_id/);
    });

    await t.step("each client has the lines to paste, with this server's address", async () => {
      await opened.go("/connect/vscode");
      await page.getByRole("article", { name: "VS Code" }).getByText(`${server.url}/mcp/v1`).first()
        .waitFor();
      await examine("Connect");
      const readme = await Deno.readTextFile(new URL("../../../docs/clients/README.md", import.meta.url));
      const ids = new Set(Array.from(readme.matchAll(/\]\((\w+)\.md\)/g), ([, id]) => `#/connect/${id}`));
      const links = page.getByRole("navigation", { name: "Clients" }).getByRole("link");
      assert.deepEqual(
        (await links.evaluateAll((links) => links.map((link) => link.getAttribute("href")))).toSorted(),
        [...ids].toSorted(),
      );
      for (const href of ids) {
        await opened.go(href.slice(1));
        await page.locator(`a[aria-current=page][href="${href}"]`).waitFor();
        assert.doesNotMatch(await page.locator("main").innerText(), /localhost:8080/);
      }
    });
  },
);

testWithChromium(
  "callers watch their own calls, and administrators all, of two processes",
  async (browser, t) => {
    const pipeline = {
      name: "away",
      database: { host: "127.0.0.1", port: 1, database: "none" },
      tables: [{ table: "pages", text_column: "content", vector_column: "embedding" }],
      embedding_llm: { provider: "local" },
      rag_llm: { provider: "local" },
    };
    await using shop = await createShop({
      config: () =>
        `pipelines: [${JSON.stringify(pipeline)}]\nconsole: { administrators: [alice] }\n` +
        "limits: { default: { calls_per_minute: 600 } }",
    });
    await writeUsers(shop.folder, ["alice", "bob"]);
    await using server = await shop.serve(["-http", "-addr", "127.0.0.1:0", "-processes", "2"]);
    await waitUntil("both serve", () => server.stderr().includes("2 processes serve"));
    const logIn = async (user: string, route: string) => {
      const opened = await openConsole(browser, server.url, { route });
      await opened.page.getByRole("textbox", { name: "User" }).fill(user);
      await opened.page.getByLabel("Password").fill(password);
      await opened.page.getByRole("button", { name: "Log in" }).click();
      await opened.page.getByRole("navigation", { name: "Pages" }).waitFor();
      return opened;
    };

    await t.step("who is no administrator sees no more", async () => {
      await using opened = await logIn("bob", "/watch/all");
      const { page } = opened;
      await page.getByText("No calls yet").waitFor();
      await opened.examine("no calls");
      assert.equal(await page.getByRole("tab").count(), 0);
      await opened.go("/ask/data/shop/SELECT%201");
      await page.getByRole("button", { name: "Run" }).click();
      await page.getByRole("status").filter({ hasText: /^1 row in/ }).waitFor();
    });

    await t.step("calls, limits and the server's state", async () => {
      await using opened = await logIn("alice", "/ask/data");
      const { page } = opened;
      const box = page.getByRole("textbox", { name: "Question or SQL" });
      await page.locator(".cm-content").waitFor();
      for (
        const [text, result] of [
          ["SELECT * FROM customers LIMIT 7", /^7 rows/],
          ["SELECT status, count(*) FROM orders GROUP BY 1", /rows/],
          ["DELETE FROM orders", /^$/],
          ["How many customers do we have?", /^1 row in/],
        ] as const
      ) {
        await box.press("ControlOrMeta+a");
        await page.keyboard.insertText(text);
        await page.keyboard.press("Control+Enter");
        if (text.startsWith("DELETE")) await page.getByRole("alert").waitFor();
        else await page.getByRole("status").filter({ hasText: result }).waitFor();
      }
      await page.getByRole("link", { name: "Watch" }).click();
      const calls = page.getByRole("region", { name: "Recent calls" });
      const rowOf = (rows: string) =>
        calls.getByRole("row").filter({ hasText: "query_database" }).filter({
          has: page.getByRole("cell", { name: rows, exact: true }),
        });
      await rowOf("7").getByRole("cell", { name: /^[\d.]+ m?s$/ }).waitFor();
      await calls.getByRole("row").filter({ hasText: "refused" }).first().waitFor();
      await page.getByRole("region", { name: "Limits" }).getByText(/ of 600 left/).waitFor();
      assert.doesNotMatch(await page.locator("main").innerText(), /SELECT|customers|bob/);
      await opened.examine("calls");

      await page.getByRole("tab", { name: "All callers" }).click();
      await calls.getByRole("row").filter({ hasText: "bob" }).first().waitFor();
      await calls.getByRole("row").filter({ hasText: "alice" }).first().waitFor();
      await opened.examine("calls of all");

      await page.getByRole("tab", { name: "Server" }).click();
      await page.getByText("2 processes", { exact: true }).waitFor();
      const reached = page.getByRole("region", { name: "What is reached" });
      await reached.getByRole("row").filter({ hasText: "Database shop" }).getByText("reachable", {
        exact: true,
      }).waitFor();
      await reached.getByRole("row").filter({ hasText: "Pipeline away, database" }).waitFor();
      await page.getByRole("region", { name: "Connections" }).getByRole("rowheader", { name: "shop" })
        .waitFor();
      await opened.examine("the server's state");

      // as it is at any time
      const at = (place: number) => new Date(Date.UTC(2026, 2, 15, 12, 0, 60 - 9 * place)).toISOString();
      await page.route(/\/console\/(?:calls|usage)$/, async (route) => {
        const response = await route.fetch();
        const { calls = [], limits = [], ...rest } = await response.json();
        const json = {
          ...rest,
          calls: calls.map((call: object, place: number) => ({
            ...call,
            at: at(place),
            elapsedMs: 3.2 * (place % 4 + 1),
          })),
          limits: limits.map((limit: object) => ({ ...limit, used: 90, remaining: 510, resets_at: at(0) })),
        };
        await route.fulfill({ response, json });
      });
      await page.getByRole("tab", { name: "My calls" }).click();
      await rowOf("7").waitFor();
      await page.getByText("510 of 600 left").waitFor();
      await takeScreenshot(page, "console_watch");
    });
  },
);
