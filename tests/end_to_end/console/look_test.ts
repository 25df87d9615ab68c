import assert from "node:assert/strict";
import { testWithChromium } from "../../support/chromium.ts";
import { openConsole, takeScreenshot } from "./open_console.ts";
import { countOf, createShop } from "./shop_server.ts";

const hostile = `
  CREATE TABLE "<img src=x onerror=alert(1)>" ("a""b" text, "<b>x</b>" int PRIMARY KEY);
  COMMENT ON TABLE "<img src=x onerror=alert(1)>" IS E'photo\\u202egpj.exe <script>alert(2)</script>';
  INSERT INTO "<img src=x onerror=alert(1)>" VALUES (E'photo\\u202egpj.exe', 1), ('<script>alert(3)</script>', 2);
  CREATE SCHEMA "a/b%";
  CREATE TABLE "a/b%"."c.d e" (id int REFERENCES orders, "order" text)`;

testWithChromium("the tables of a database are looked at", async (browser, t) => {
  await using shop = await createShop();
  await using server = await shop.serve();
  await using opened = await openConsole(browser, server.url, { route: "/look" });
  const { page, examine } = opened;
  const { database } = shop;
  const all = await countOf(
    database,
    "SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'v', 'm') AND relnamespace = 'public'::regnamespace",
  );
  const list = page.getByRole("region", { name: "Tables and views" });
  const search = page.getByRole("searchbox", { name: "Search" });
  const heading = (name: string) => page.getByRole("heading", { level: 2, name, exact: true });
  const region = (name: string) => page.getByRole("region", { name, exact: true });
  const found = async (count: number) => {
    await list.getByRole("status").getByText(`${count} of ${all} tables and views that you may read.`)
      .waitFor();
    assert.equal(await list.getByRole("link").count(), count);
  };

  await t.step("all are listed, and those whose name or comment has all words are found", async () => {
    await page.getByRole("tab", { name: "Databases", selected: true }).waitFor();
    await list.getByRole("combobox", { name: "Database" }).waitFor();
    await found(all);
    await examine("no table chosen");
    await search.fill("charges supplier");
    await found(0);
    await search.fill("warehouse");
    await found(0);
    await search.fill("opinions of");
    await found(1);
    await list.getByRole("link", { name: /^reviews/ }).waitFor();
    await search.fill("");
    await found(all);
  });

  await t.step("a table that is opened has the focus and the page's title", async () => {
    await list.getByRole("link", { name: /^orders/ }).click();
    await heading("public.orders").and(page.locator(":focus")).waitFor();
    await list.getByRole("link", { name: /^orders/ }).and(page.locator('[aria-current="page"]')).waitFor();
    assert.match(await page.title(), /^orders/);
    const columns = region("Columns");
    await columns.getByRole("rowheader", { name: "id primary key" }).waitFor();
    const row = columns.getByRole("row").filter({
      has: page.getByRole("rowheader", { name: /^customer_id/ }),
    });
    await row.getByText("public.customers.id").waitFor();
  });

  await t.step("references lead both ways, in the picture and in lists", async () => {
    const hrefs = async (within: string) =>
      await page.locator(`${within} a`).evaluateAll((links) =>
        links.map((link) => link.getAttribute("href"))
      );
    await region("Referred to by").getByRole("link", { name: "public.order_lines" }).waitFor();
    const [ofLists, ofPicture] = [await hrefs(".look-sides"), await hrefs(".look-picture")];
    const others = await countOf(
      database,
      "SELECT count(DISTINCT (conrelid, confrelid)) FROM pg_constraint " +
        "WHERE contype = 'f' AND 'orders'::regclass IN (conrelid, confrelid)",
    );
    assert.equal(ofLists.length, others);
    assert.deepEqual(ofPicture.toSorted(), [...ofLists, "#/look/data/shop/public/orders"].toSorted());
    await examine("a table");
    await takeScreenshot(page, "console_look");
    await region("Refers to").getByRole("link", { name: "public.customers" }).click();
    await heading("public.customers").waitFor();
    await region("Referred to by").getByRole("link", { name: "public.orders" }).click();
    await heading("public.orders").waitFor();
  });

  await t.step("its words are the administrator's", async () => {
    await page.getByText("order, purchase", { exact: true }).waitFor();
    await page.getByText("return rate", { exact: true }).waitFor();
  });

  await t.step("first rows come when somebody asks for them", async () => {
    const button = page.getByRole("button", { name: "First rows" });
    assert.equal(await button.getAttribute("aria-expanded"), "false");
    await button.click();
    assert.equal(await button.getAttribute("aria-expanded"), "true");
    await region("First rows").getByRole("status").getByText("20 rows").waitFor();
    assert.equal(await region("First rows").getByRole("row").count(), 21);
    await examine("first rows");
    await button.click();
    await region("First rows").waitFor({ state: "detached" });
  });

  await t.step("a table is asked about by a link, which runs nothing", async () => {
    const link = page.getByRole("link", { name: "Ask about it" });
    const href = decodeURIComponent(await link.getAttribute("href") ?? "");
    assert.match(href, /^#\/ask\/data\/shop\/SELECT "id", [^*]+\nFROM "public"."orders"\nLIMIT 50$/);
    await link.click();
    await page.getByRole("textbox", { name: "Question or SQL" }).getByText('FROM "public"."orders"')
      .waitFor();
    assert.equal(opened.toolCalls().at(-1)?.name === "query_database", false);
    await page.goBack();
    await heading("public.orders").waitFor();
  });

  await t.step("names, comments and rows are text, whatever they say", async () => {
    await database.query(hostile);
    await page.reload();
    await list.getByRole("link", { name: /^<img/ }).click();
    await heading("public.<img src=x onerror=alert(1)>").waitFor();
    await page.getByRole("button", { name: "First rows" }).click();
    await region("First rows").getByText("<script>alert(3)</script>").waitFor();
    for (const within of [list, region("First rows"), page.locator(".sentences").first()]) {
      assert.ok((await within.innerText()).includes("U+202E"));
    }
    assert.equal(await page.locator("main img, main script, main b b").count(), 0);
    await page.getByRole("link", { name: "Ask about it" }).click();
    await page.getByRole("textbox", { name: "Question or SQL" }).getByText('SELECT "a""b", "<b>x</b>"')
      .waitFor();
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("status").filter({ hasText: /^2 rows in/ }).waitFor();

    await opened.go(`/look/data/shop/${encodeURIComponent("a/b%")}/${encodeURIComponent("c.d e")}`);
    await heading("a/b%.c.d e").waitFor();
    await region("Refers to").getByRole("link", { name: "public.orders" }).waitFor();
  });

  await t.step("what is not there is told", async () => {
    await opened.go("/look/data/shop/public/nosuch");
    await page.getByText("It is gone, or you may not read it").waitFor();
    await opened.go("/look/data/nosuch");
    await page.getByRole("alert").getByText(/nosuch/).waitFor();
    await page.getByRole("button", { name: "Try again" }).waitFor();
    await examine("a database that is not there");
  });

  await t.step("on a phone, a table takes the list's place", async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await opened.go("/look/data/shop/public/orders");
    await heading("public.orders").waitFor();
    await list.waitFor({ state: "hidden" });
    await page.getByRole("link", { name: "← All tables" }).click();
    await list.getByRole("link", { name: /^orders/ }).waitFor();
  });

  await t.step("of many references, the first come, and all of them on demand", async () => {
    const children = Array.from(
      { length: 300 },
      (_, n) => `CREATE TABLE child_${n} (id int REFERENCES orders)`,
    );
    await database.query(children.join(";"));
    await page.setViewportSize({ width: 1280, height: 800 });
    await opened.go("/look/data/shop/public/orders");
    await page.reload();
    await page.getByRole("button", { name: "Look through them" }).click();
    const links = region("Referred to by").getByRole("link");
    const more = region("Referred to by").getByRole("button", { name: /^Show all 30\d$/ });
    await more.waitFor();
    assert.equal(await links.count(), 20);
    await examine("many references");
    await more.click();
    await more.waitFor({ state: "detached" });
    assert.ok(await links.count() > 300);
  });
});
