import assert from "node:assert/strict";
import type { Locator, Page } from "playwright-core";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { testWithChromium } from "../../support/chromium.ts";
import { waitUntil } from "../../support/wait_until.ts";
import { openConsole, takeScreenshot } from "./open_console.ts";
import { countOf, createShop } from "./shop_server.ts";

const boxOf = (page: Page) => page.getByRole("textbox", { name: "Question or SQL" });
const gridOf = (page: Page) => page.getByRole("grid", { name: "Rows" });

/** Puts a text in the box, as by hand but at once, and runs it. */
async function run(page: Page, text: string): Promise<void> {
  await boxOf(page).press("ControlOrMeta+a");
  await page.keyboard.insertText(text);
  await page.keyboard.press("Control+Enter");
}

const sumOf = (rows: number) => new RegExp(`^(?:The first )?${rows.toLocaleString("en-GB")} rows? in `);

async function rowsCome(page: Page, rows: number): Promise<void> {
  await page.getByRole("status").filter({ hasText: sumOf(rows) }).waitFor();
}

testWithChromium("a database is asked in SQL", async (browser, t) => {
  await using shop = await createShop({
    sql: `CREATE TABLE hostile ("<img src=x onerror=alert(1)>" text, "=name" text, long text);
      INSERT INTO hostile VALUES ('<script>alert(2)</script>', '=1+1', repeat('long ', 60000)),
        (E'photo\\u202egpj.exe', NULL, '')`,
  });
  await using server = await shop.serve();
  await using opened = await openConsole(browser, server.url, { route: "/ask/data" });
  const { page, examine } = opened;
  const { database } = shop;
  await page.locator(".cm-content").waitFor();
  const customers = await countOf(database, "SELECT count(*) FROM customers");

  await t.step("nothing asked yet: there are examples to begin with", async () => {
    const examples = page.getByRole("region", { name: "To begin with" });
    await examples.getByText(/other words need a model, which llm\.provider sets\.$/).waitFor();
    assert.doesNotMatch(await examples.innerText(), /How many/);
    await examine("nothing asked");
    const paint = await page.evaluate(
      "performance.getEntriesByName('first-contentful-paint')[0]?.startTime",
    );
    Deno.stdout.writeSync(new TextEncoder().encode(`first paint after ${Math.round(Number(paint))} ms\n`));
  });

  const statement =
    "SELECT id, full_name, city, country, tier, birth_date FROM customers ORDER BY full_name, id";
  await t.step("typed without a pause, and run by the keyboard", async () => {
    await boxOf(page).pressSequentially(statement);
    await page.keyboard.press("Control+Enter");
    await rowsCome(page, customers);
    assert.equal(await gridOf(page).getAttribute("aria-rowcount"), String(customers + 1));
    assert.equal(await boxOf(page).innerText(), statement);
    await examine("rows");
  });

  await t.step("Tab leaves the box", async () => {
    await boxOf(page).focus();
    for (const name of ["Database", "Asked before"]) {
      await page.keyboard.press("Tab");
      await page.locator(`select[aria-label="${name}"]:focus`).waitFor();
    }
    await page.keyboard.press("Tab");
    await page.locator("button:focus", { hasText: "Run" }).waitFor();
  });

  await t.step("headings sort, by click and by Enter", async () => {
    const heading = page.getByRole("columnheader", { name: /^id\b/ });
    const [[least, most] = []] = await database.query("SELECT min(id), max(id) FROM customers");
    const first = page.getByRole("row").nth(1).getByRole("gridcell").first();
    for (const press of [() => heading.click(), () => page.keyboard.press("Enter")]) {
      for (const [sort, id] of [["ascending", least], ["descending", most], ["none", undefined]] as const) {
        await press();
        await heading.and(page.locator(`[aria-sort="${sort}"]`)).waitFor();
        if (id !== undefined) assert.equal(await first.innerText(), id);
      }
    }
  });

  await t.step("the keyboard reaches the last cell, which is laid out then", async () => {
    await gridOf(page).focus();
    await page.keyboard.press("Control+End");
    const active = async () => await gridOf(page).getAttribute("aria-activedescendant");
    await waitUntil(
      "the last row is there",
      async () => await page.locator(`[id="${await active()}"]`).count() === 1,
    );
    const row = page.locator(`[id="${await active()}"]`).locator("xpath=..");
    assert.equal(await row.getAttribute("aria-rowindex"), String(customers + 1));
    // few of the rows are
    assert.ok(await page.getByRole("row").count() < 60);
  });

  await t.step("a cell opens, and the focus comes back", async () => {
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: `id, row ${customers}` });
    await dialog.waitFor();
    await examine("a cell");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.locator("[role=grid]:focus").waitFor();
  });

  await t.step("the place of an error is marked, until somebody types", async () => {
    await run(page, "SELECT *\nFROM orders WHER x");
    await page.getByRole("alert").getByText(/syntax error/).waitFor();
    assert.equal(await page.locator(".cm-fault").innerText(), "x");
    await examine("an error");
    await boxOf(page).press("End");
    await page.keyboard.type(" ");
    await page.locator(".cm-fault").waitFor({ state: "detached" });
  });

  await t.step("an error of the database's is told without what is meant for models", async () => {
    await run(page, "SELECT 'abc'::int");
    const alert = page.getByRole("alert");
    await alert.getByText(/invalid input syntax for type integer/).waitFor();
    assert.doesNotMatch(await alert.innerText(), /<\/?data-/);
  });

  await t.step("the rows of another statement do not stand under one that a link brings", async () => {
    await run(page, "SELECT 'old' AS w");
    const cell = page.getByRole("gridcell", { name: "old" });
    await cell.waitFor();
    await page.evaluate("location.hash = '#/ask/data/shop/SELECT%20sum(1)'");
    await boxOf(page).filter({ hasText: "SELECT sum(1)" }).waitFor();
    await cell.waitFor({ state: "detached" });
    await page.evaluate("location.hash = '#/ask/data'");
  });

  await t.step("words without a model: what can be asked, and what to set", async () => {
    await run(page, "How many customers do we have in Atlantis?");
    const alert = page.getByRole("alert");
    await alert.getByText(
      /^Ask in SQL, or in the words of a question .*llm\.provider sets\. Questions that can/,
    ).waitFor();
    assert.doesNotMatch(await alert.innerText(), /get_schema_info|completion provider/);
  });

  await t.step("what takes too long is stopped, on the server too", async () => {
    await run(page, "SELECT count(*) FROM generate_series(1, 100000000000)");
    const running =
      "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND datname = current_database() " +
      "AND query LIKE '%100000000000%' AND pid <> pg_backend_pid()";
    await waitUntil("it runs", async () => await countOf(database, running) === 1);
    // nothing moves for who wants nothing to
    await page.locator(".spinner").waitFor();
    assert.equal(await page.evaluate("document.getAnimations().length"), 0);
    await page.emulateMedia({ reducedMotion: "no-preference" });
    assert.equal(await page.evaluate("document.getAnimations().length"), 1);
    await page.emulateMedia({ reducedMotion: "reduce" });
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("status").getByText("Stopped. There is no answer.").waitFor();
    await waitUntil("it runs no more", async () => await countOf(database, running) === 0);
  });

  await t.step("what stands in rows is text, whatever it says, and a file guards formulas", async () => {
    await run(page, "SELECT * FROM hostile ORDER BY 1");
    await rowsCome(page, 2);
    assert.equal(await page.locator("main img, main script").count(), 0);
    await page.getByRole("gridcell", { name: "<script>alert(2)</script>" }).waitFor();
    await page.getByRole("columnheader", { name: /<img src=x/ }).waitFor();
    assert.equal(await gridOf(page).locator(".unseen").innerText(), "U+202E");
    await page.getByRole("gridcell", { name: /^long long/ }).dblclick();
    const dialog = page.getByRole("dialog", { name: /^long, row/ });
    await dialog.getByText("300,000 characters, the first 200,000 are shown").waitFor();
    await page.keyboard.press("Escape");
    const coming = page.waitForEvent("download");
    await page.getByRole("button", { name: "CSV" }).click();
    const download = await coming;
    assert.equal(download.suggestedFilename(), "shop.csv");
    const text = await Deno.readTextFile(await download.path());
    assert.match(text, /^\ufeff<img src=x onerror=alert\(1\)>,'=name,long\r\n/);
    assert.match(text, /<script>alert\(2\)<\/script>,'=1\+1,long long/);
    await page.getByRole("status").getByText(/have an apostrophe before them in the copy: 2\./).waitFor();
  });

  await t.step("a file has its rows as they are shown, and their values as they are", async () => {
    await run(page, "SELECT * FROM (VALUES (E'Mu\\u0308ller\\u200b ', 2), (E'a\\nb  c', 1)) v (name, n)");
    await rowsCome(page, 2);
    await page.getByRole("columnheader", { name: /^n\b/ }).click();
    const names = page.getByRole("gridcell").filter({ hasText: /\D/ });
    assert.deepEqual(await names.allInnerTexts(), ["a↵b  c", "Mu\u0308llerU+200B·"]);
    await examine("values with what is not seen");
    const coming = page.waitForEvent("download");
    await page.getByRole("button", { name: "CSV" }).click();
    const file = await Deno.readFile(await (await coming).path());
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(file);
    assert.equal(text, '\ufeffname,n\r\n"a\nb  c",1\r\nMu\u0308ller\u200b ,2\r\n');
    await names.first().dblclick();
    const dialog = page.getByRole("dialog", { name: "name, row 1" });
    assert.equal(await dialog.getByRole("region", { name: "Value" }).innerText(), "a\nb  c");
    await page.keyboard.press("Escape");
  });

  await t.step("more rows come on demand, as many as the page holds", async () => {
    await run(page, "SELECT n FROM generate_series(1, 10500) n ORDER BY n");
    const more = page.getByRole("button", { name: "Load more" });
    for (let rows = 1_000; rows < 10_000; rows += 1_000) {
      await rowsCome(page, rows);
      await more.click();
      await page.locator("button:focus", { hasText: /Load/ }).or(page.getByText(/^The page holds/)).waitFor();
    }
    await rowsCome(page, 10_000);
    await page.getByText("The page holds 10,000 rows and no more.").waitFor();
    assert.equal(await more.count(), 0);
    await gridOf(page).focus();
    await page.keyboard.press("Control+End");
    await page.getByRole("gridcell", { name: "10000", exact: true }).waitFor();
  });

  await t.step("a question takes the place of rows that are still coming", async () => {
    const slow = "(SELECT count(*) FROM generate_series(1, 100000000000 + n))";
    await run(page, `SELECT n FROM generate_series(1, 2000) n WHERE n <= 1001 OR ${slow} > 0`);
    await rowsCome(page, 1_000);
    await page.getByRole("button", { name: "Load more" }).click();
    await page.getByRole("button", { name: "Loading …" }).waitFor();
    await run(page, "SELECT count(*) FROM generate_series(1, 100000000000)");
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("status").getByText("Stopped. There is no answer.").waitFor();
  });

  await t.step("after a dot, columns of that table alone are offered", async () => {
    const columns = await database.query(
      "SELECT attname FROM pg_attribute WHERE attrelid = 'orders'::regclass AND attnum > 0 ORDER BY attname",
    );
    await boxOf(page).press("ControlOrMeta+a");
    await page.keyboard.insertText("SELECT o. FROM orders o");
    for (let n = 0; n < " FROM orders o".length; n++) await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Control+Space");
    const options = page.locator(".cm-tooltip-autocomplete .cm-completionLabel");
    await options.first().waitFor();
    assert.deepEqual((await options.allInnerTexts()).toSorted(), columns.flat());
    await page.keyboard.press("Escape");
  });

  await t.step("words are completed on request alone, and Tab takes what is offered", async () => {
    await boxOf(page).press("ControlOrMeta+a");
    await page.keyboard.insertText("show me all cust");
    const colour = (text: string) => textColour(boxOf(page).getByText(text, { exact: true }));
    assert.equal(await colour("all"), await textColour(boxOf(page)));
    const offered = page.locator(".cm-tooltip-autocomplete [aria-selected]", { hasText: "customers" });
    await page.keyboard.press("Control+Space");
    await offered.waitFor();
    // it takes long enough for the editor, which gives a list no key in its first moment
    await examine("what is offered");
    await page.keyboard.press("Tab");
    await boxOf(page).filter({ hasText: "show me all customers" }).waitFor();
    await offered.waitFor({ state: "detached" });
    await page.keyboard.press("Tab");
    await page.locator('select[aria-label="Database"]:focus').waitFor();
    await boxOf(page).fill("select all 1");
    await boxOf(page).getByText("all", { exact: true }).waitFor();
    assert.notEqual(await colour("all"), await textColour(boxOf(page)));
  });

  await t.step("text and rows stay while another page is looked at", async () => {
    await run(page, statement);
    await rowsCome(page, customers);
    await page.getByRole("link", { name: "Look" }).click();
    await page.getByRole("heading", { name: "Look", level: 1 }).waitFor();
    await page.getByRole("link", { name: "Ask" }).click();
    await rowsCome(page, customers);
    await page.locator(".cm-content").waitFor();
    assert.equal(await boxOf(page).innerText(), statement);
    await page.getByRole("combobox", { name: "Asked before" }).selectOption({
      label: "SELECT * FROM hostile ORDER BY 1",
    });
    await boxOf(page).filter({ hasText: "SELECT * FROM hostile ORDER BY 1" }).waitFor();
  });

  await t.step("what a link brings is put in the box, and runs only when somebody runs it", async () => {
    const queries = () => opened.toolCalls().filter(({ name }) => name === "query_database").length;
    const before = queries();
    await opened.go("/ask/data/shop/SELECT%201%20AS%20one");
    await page.getByText("SELECT 1 AS one").waitFor();
    await opened.go(`/ask/data/shop/${encodeURIComponent("SELECT 'a\u202Eb'")}`);
    await page.locator(".cm-specialChar").waitFor();
    assert.equal(queries(), before);
    await page.getByRole("button", { name: "Run" }).click();
    await rowsCome(page, 1);
    assert.equal(queries(), before + 1);
    assert.equal(opened.toolCalls().at(-1)?.arguments["query"], "SELECT 'a\u202Eb'");
  });

  await t.step("what was typed stays where one comes back to the link", async () => {
    await run(page, "SELECT 'typed'");
    await page.getByRole("gridcell", { name: "typed" }).waitFor();
    await page.getByRole("link", { name: "Look" }).click();
    await page.getByRole("heading", { name: "Look", level: 1 }).waitFor();
    await page.goBack();
    await page.getByRole("gridcell", { name: "typed" }).waitFor();
    await page.locator(".cm-content").waitFor();
    assert.equal(await boxOf(page).innerText(), "SELECT 'typed'");
  });

  await t.step("a database that a link names, and nobody knows, is refused in a sentence", async () => {
    await opened.go("/ask/data/nosuch/SELECT%201");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("alert").getByText(/nosuch/).waitFor();
  });
});

testWithChromium("a database is asked in words", async (browser, t) => {
  await using vendor = createVendor("anthropic", {
    answer: () => "QUESTION: Which <b>year</b> do you mean?",
  });
  await using shop = await createShop({
    config: () =>
      `llm: { provider: anthropic, model: m, anthropic_base_url: "${vendor.url}", anthropic_api_key: key }`,
  });
  await using server = await shop.serve();
  await using opened = await openConsole(browser, server.url, { route: "/ask/data" });
  const { page, examine } = opened;
  await page.locator(".cm-content").waitFor();
  const ran = page.getByRole("group", { name: "The SQL that ran" });
  await page.getByRole("region", { name: "To begin with" }).getByText(/^How many .* are there\?$/).waitFor();
  assert.equal(await page.getByText(/other words need a model/).count(), 0);

  await t.step("a verified question says so, and gives SQL that runs", async () => {
    await run(page, "How many customers do we have in Germany?");
    await page.getByText("Verified", { exact: true }).waitFor();
    assert.match(await ran.innerText(), /WHERE country = 'DE'/);
    await rowsCome(page, 1);
    const germans = await countOf(shop.database, "SELECT count(*) FROM customers WHERE country = 'DE'");
    const cell = page.getByRole("gridcell", { name: String(germans), exact: true });
    await cell.waitFor();
    await page.getByRole("button", { name: "Edit this SQL" }).click();
    await boxOf(page).filter({ hasText: "WHERE country = 'DE'" }).waitFor();
    await page.getByRole("button", { name: "Run" }).click();
    await ran.waitFor({ state: "detached" });
    await cell.waitFor();
  });

  await t.step("rows that suit one have a chart", async () => {
    await run(page, "revenue per month in 2025");
    await rowsCome(page, 12);
    await examine("a verified question");
    await page.getByRole("tab", { name: "Table" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.locator("[role=tab][aria-selected=true]:focus", { hasText: "Chart" }).waitFor();
    await page.getByRole("figure").getByRole("img", { name: /^Line chart of revenue by month, 12 values/ })
      .waitFor();
    await examine("a chart");
    await takeScreenshot(page, "console_ask");
  });

  await t.step("what a model asks back is shown as text", async () => {
    await run(page, "How did we do?");
    await page.getByRole("heading", { name: "The model asks" }).waitFor();
    await page.getByRole("status").getByText("Which <b>year</b> do you mean?").waitFor();
    await examine("a question back");
  });
});

testWithChromium("without the editor, a plain box asks too", async (browser) => {
  await using shop = await createShop();
  await using server = await shop.serve();
  await using opened = await openConsole(browser, server.url, {
    route: "/ask/data",
    prepare: (page) => page.route("**/sql_editor-*.js", (route) => route.abort()),
    mayComplain: /net::ERR_FAILED/,
  });
  const { page } = opened;
  const area = page.locator("textarea");
  await area.pressSequentially("SELECT 6 * 7 AS answer");
  await area.press("Control+Enter");
  await page.getByRole("gridcell", { name: "42" }).waitFor();
  await opened.examine("a plain box");
  await page.getByRole("button", { name: "Run" }).click();
  await rowsCome(page, 1);
});

function textColour(shown: Locator): Promise<string> {
  // the page's, which these tests have no types of
  return shown.evaluate((element) => Reflect.get(globalThis, "getComputedStyle")(element).color);
}
