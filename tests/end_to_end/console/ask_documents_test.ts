import assert from "node:assert/strict";
import { join } from "node:path";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { testWithChromium } from "../../support/chromium.ts";
import { type TestDatabase, testWithPgvector } from "../../support/database.ts";
import { topicVector } from "../../support/handbook_documents.ts";
import { keyFile, pipelineDatabase, type RagConfig, vendorKey } from "../../support/rag_server.ts";
import { openConsole, takeScreenshot } from "./open_console.ts";
import { createShop } from "./shop_server.ts";

const handbookPages = {
  table: "handbook_pages",
  text_column: "content",
  vector_column: "embedding",
  id_column: "id",
  filter_columns: ["page", "title", "section", "audience", "updated_on"],
};

const hostilePages = `
  CREATE TABLE hostile_pages (id int PRIMARY KEY, title text, url text, content text, embedding vector(8));
  INSERT INTO hostile_pages VALUES (1, E'photo\\u202egpj.exe', 'javascript:alert(1)',
    '<img src=x onerror=alert(2)> Parking is free.', '[0,0,0,1,0,0,0,0.1]')`;

function pipelineOf(database: TestDatabase, name: string, changes: RagConfig): RagConfig {
  return {
    name,
    description: `The handbook, by ${name}`,
    database: pipelineDatabase(database),
    tables: [handbookPages],
    embedding_llm: { provider: "local" },
    rag_llm: { provider: "local" },
    allow_include_sources: true,
    top_n: 5,
    ...changes,
  };
}

const question = "How many days of annual leave do I have?";

testWithChromium("documents are asked, and sources are looked into", async (browser, t) => {
  let hold = Promise.resolve();
  await using openai = createVendor("openai", { embed: topicVector });
  await using anthropic = createVendor("anthropic", {
    answer: ({ system }) =>
      /You prepare a search/.test(system)
        ? "How many days of annual leave do part-timers have?"
        : ["All employees get 28 days of annual leave [1]. ", "On Mars there are 99 days [2]."],
    // an event in the middle of the answer
    beforePiece: (index) => index === 4 ? hold : Promise.resolve(),
  });
  const model = { provider: "anthropic", model: "m", base_url: anthropic.url };
  await using shop = await createShop({
    hasHandbook: true,
    sql: hostilePages,
    config: (database) => {
      const pipelines = [
        pipelineOf(database, "handbook", { examples: [question, "<b>Who</b> may telework?"] }),
        pipelineOf(database, "model", { rag_llm: model }),
        pipelineOf(database, "closed", { allow_include_sources: false }),
        pipelineOf(database, "<b>hostile</b>", {
          tables: [{
            table: "hostile_pages",
            text_column: "content",
            vector_column: "embedding",
            id_column: "id",
            // as an address, the server tells those of the web alone
            metadata_columns: ["url"],
          }],
          embedding_llm: { provider: "openai", model: "e", base_url: openai.url },
        }),
      ];
      return `pipelines: ${
        JSON.stringify(pipelines)
      }\napi_keys: { openai: ${keyFile}, anthropic: ${keyFile} }`;
    },
  });
  await Deno.writeTextFile(join(shop.folder.path, keyFile), vendorKey, { mode: 0o600 });
  await using server = await shop.serve();
  await using opened = await openConsole(browser, server.url, {
    route: "/ask/documents",
    mayComplain: /the server responded with a status of (?:400|403|5\d\d)/,
  });
  const { page, examine } = opened;
  const box = page.getByRole("textbox", { name: /^(?:Question|Follow-up question)$/ });
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const form = page.locator("form");
  const latest = page.getByRole("article").last();
  const asks: Record<string, unknown>[] = [];
  page.on("request", (request) => {
    if (/\/v1\/pipelines\/[^/]+$/.test(request.url())) asks.push(request.postDataJSON());
  });
  const startAnew = async (pipeline: string) => {
    if (await latest.count() > 0) await button("New conversation").click();
    await page.getByRole("combobox", { name: "Pipeline" }).selectOption(pipeline);
  };
  const ask = async (text: string) => {
    await box.fill(text);
    await box.press("Enter");
  };

  await t.step("an answer leads to its sources", async () => {
    await box.waitFor();
    const examples = page.getByRole("region", { name: "To begin with" });
    await examples.getByRole("button", { name: "<b>Who</b> may telework?" }).waitFor();
    await examine("nothing asked");
    await examples.getByRole("button", { name: question }).click();
    await page.locator("textarea:focus").waitFor();
    await box.press("Enter");
    await examples.waitFor({ state: "detached" });
    await latest.getByRole("status").getByText(/Answered/).waitFor();
    const cite = latest.getByRole("button", { name: /^Source \d$/ }).first();
    const number = (await cite.innerText()).replace(/\D/g, "");
    await cite.click();
    await page.locator(`ol.sources > li:nth-child(${number}):focus`).waitFor();
    await examine("an answer");
  });

  await t.step("what each search found stands side by side", async () => {
    const compare = button("Searches side by side");
    assert.equal(await compare.getAttribute("aria-expanded"), "false");
    await compare.click();
    assert.equal(await compare.getAttribute("aria-expanded"), "true");
    const table = page.getByRole("region", { name: "Searches side by side" }).getByRole("table");
    await table.getByRole("rowheader").first().waitFor();
    await examine("searches");
    await compare.click();
    await takeScreenshot(page, "console_documents");
  });

  await t.step("a follow-up goes with what was said, and a new conversation without", async () => {
    await startAnew("model");
    await ask(question);
    await latest.getByText("1 of 2 claims are verified", { exact: false }).waitFor();
    await latest.getByText("not verified", { exact: true }).waitFor();
    await page.getByRole("textbox", { name: "Follow-up question" }).waitFor();
    await ask("And part-timers?");
    await latest.getByText("Searched for: How many days of annual leave do part-timers have?").waitFor();
    const messages = asks.at(-1)?.["messages"] as { role: string; content: string }[];
    assert.deepEqual(messages.map(({ role }) => role), ["user", "assistant"]);
    assert.equal(messages[0]?.content, question);
    await examine("a conversation");
    await button("New conversation").click();
    assert.equal(await page.getByRole("article").count(), 0);
    await page.locator("textarea:focus").waitFor();
  });

  await t.step("a stream that is stopped leaves what it brought", async () => {
    const held = Promise.withResolvers<void>();
    hold = held.promise;
    await ask(question);
    await latest.getByText(/All employees get 28 days/).waitFor();
    await button("Stop").click();
    await latest.getByRole("status").getByText(/Stopped: this is not all\./).waitFor();
    await latest.getByText(/All employees get 28 days/).waitFor();
    held.resolve();
  });

  await t.step("a conversation outlives its page, and what ran there has been stopped", async () => {
    const held = Promise.withResolvers<void>();
    hold = held.promise;
    await startAnew("model");
    await ask(question);
    await latest.getByText(/All employees get 28 days/).waitFor();
    await box.fill("A beginning");
    for (const elsewhere of ["Look", "Watch"]) {
      await page.getByRole("link", { name: elsewhere, exact: true }).click();
      await page.getByRole("heading", { name: elsewhere, level: 1 }).waitFor();
      held.resolve();
      await page.getByRole("article").first().waitFor({ state: "detached" });
      await opened.go("/ask/documents");
      await latest.getByRole("status").getByText(/Stopped: this is not all\./).waitFor();
      await latest.getByText(/All employees get 28 days/).waitFor();
      assert.deepEqual(await page.getByRole("article").getByRole("heading", { level: 2 }).allInnerTexts(), [
        question,
      ]);
      assert.equal(await box.inputValue(), "A beginning");
      assert.equal(await page.getByRole("combobox", { name: "Pipeline" }).inputValue(), "model");
    }
    await box.fill("");
  });

  await t.step("a filter that is refused brings the question back, to be mended", async () => {
    await startAnew("handbook");
    await page.getByText("Filter and number of passages").click();
    await button("Add a condition").click();
    const condition = (number: number) => page.getByRole("group", { name: `Condition ${number}` });
    const column = condition(1).getByRole("textbox", { name: "Column" });
    const value = condition(1).getByRole("textbox", { name: "Value" });
    await column.fill("foo");
    await value.fill("x");
    await ask(question);
    await form.getByRole("alert").getByText(/foo/).waitFor();
    assert.equal(await box.inputValue(), question);
    await examine("a filter that is refused");

    await column.fill("audience");
    await value.fill("managers");
    await box.press("Enter");
    await latest.getByText("handbook · where audience = managers").waitFor();
    await latest.getByRole("status").getByText(/Answered|Nothing near enough/).waitFor();
    assert.deepEqual(asks.at(-1)?.["filter"], {
      conditions: [{ column: "audience", operator: "=", value: "managers" }],
      logic: "AND",
    });

    await condition(1).getByRole("combobox", { name: "Operator" }).selectOption("IS NULL");
    await value.waitFor({ state: "hidden" });
    await button("Add a condition").click();
    await page.getByRole("combobox", { name: "Which conditions must hold" }).waitFor();
    await button("Remove 1").click();
    assert.equal(await condition(1).count(), 1);
    await button("Remove 1").click();
    assert.equal(await condition(1).count(), 0);

    await page.getByRole("spinbutton", { name: "Number of passages" }).fill("500");
    await ask(question);
    await form.getByRole("alert").getByText(/top_n: expected/).waitFor();
    await page.getByRole("spinbutton", { name: "Number of passages" }).fill("2");
    await button("Search alone").click();
    await latest.getByRole("status").getByText("2 passages.").waitFor();
    await page.getByRole("spinbutton", { name: "Number of passages" }).fill("");
  });

  await t.step("what the documents do not answer is said so", async () => {
    await startAnew("handbook");
    await ask("zorblax quimpf wibble");
    await latest.getByRole("status").getByText(/Nothing near enough was found/).waitFor();
    await examine("nothing near enough");
  });

  await t.step("where the model fails, a search alone goes on", async () => {
    await startAnew("model");
    anthropic.fail(400);
    await ask(question);
    await latest.getByRole("alert").waitFor();
    await examine("an answer that failed");
    await latest.getByRole("button", { name: "Search alone" }).click();
    await latest.getByRole("status").getByText("5 passages.").waitFor();
    anthropic.mend();
  });

  await t.step("a pipeline that shows no documents says so", async () => {
    await startAnew("closed");
    await ask(question);
    await latest.getByText("allow_include_sources").waitFor();
    assert.equal(await button("Searches side by side").count(), 0);
    await box.fill(question);
    await button("Search alone").click();
    await latest.getByRole("alert").getByText("the pipeline does not show its documents").waitFor();
  });

  await t.step("what stands in documents is text, whatever it says", async () => {
    await startAnew("<b>hostile</b>");
    await ask("Is parking free?");
    await latest.getByRole("heading", { name: "1 source" }).waitFor();
    const source = latest.getByRole("listitem");
    await source.getByText("javascript:alert(1)").waitFor();
    await source.getByText(/<img src=x onerror=alert\(2\)>/).waitFor();
    assert.equal(await source.locator("a, img").count(), 0);
    assert.equal(await source.locator(".unseen").first().innerText(), "U+202E");
  });

  await t.step("each pipeline is looked at", async () => {
    await opened.go("/look/pipelines");
    const card = page.getByRole("region", { name: "handbook", exact: true });
    await card.getByRole("region", { name: "Health and tokens of handbook" }).getByText("reachable").first()
      .waitFor();
    await page.getByRole("region", { name: "<b>hostile</b>", exact: true }).waitFor();
    await examine("pipelines");
    await button("Look again").click();
    await card.getByRole("table").first().waitFor();
    await page.getByText("Loading", { exact: false }).first().waitFor({ state: "detached" });
    await card.getByText("reachable").first().waitFor();
  });
}, testWithPgvector);

testWithChromium("a RAG server that stands alone has the documents' parts alone", async (browser) => {
  await using shop = await createShop({
    hasHandbook: true,
    config: (database) =>
      `pipelines: [${JSON.stringify(pipelineOf(database, "handbook", {}))}]\n` +
      "server: { listen_address: 127.0.0.1, port: 0 }",
  });
  await using server = await shop.serve(["-rag"]);
  await using opened = await openConsole(browser, server.url);
  const { page } = opened;
  await page.getByRole("textbox", { name: "Question" }).waitFor();
  const pages = page.getByRole("navigation", { name: "Pages" }).getByRole("link");
  assert.deepEqual((await pages.allInnerTexts()).map((text) => text.trim()), [
    "Ask",
    "Look",
    "Connect",
    "Watch",
  ]);
  assert.equal(await page.getByRole("tab").count(), 0);
  await opened.go("/use");
  await page.getByRole("textbox", { name: "Question" }).waitFor();
  await opened.go("/connect");
  await page.getByRole("region", { name: "Addresses" }).waitFor();
  await opened.examine("Connect");
  await opened.go("/look");
  await page.getByRole("region", { name: "Health and tokens of handbook" }).waitFor();
  await opened.go("/watch");
  await page.getByRole("tab", { name: "Server" }).click();
  await page.getByRole("region", { name: "What is reached" }).getByText("Pipeline handbook, completion")
    .waitFor();
}, testWithPgvector);
