import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { password, writeUsers } from "../../support/accounts.ts";
import { testWithChromium } from "../../support/chromium.ts";
import { databaseEntry } from "../../support/configured_server.ts";
import { createTestDatabase } from "../../support/database.ts";
import { startOauthServer } from "../../support/oauth_server.ts";
import { freePort } from "../../support/token_issuer.ts";
import { openConsole } from "./open_console.ts";
import { createShop } from "./shop_server.ts";

const boxOf = (page: Page) => page.getByRole("textbox", { name: "Question or SQL" });
const pagesOf = (page: Page) => page.getByRole("navigation", { name: "Pages" });

async function logIn(page: Page, user: string, given = password): Promise<void> {
  await page.getByRole("textbox", { name: "User" }).fill(user);
  await page.getByLabel("Password").fill(given);
  await page.getByLabel("Password").press("Enter");
}

testWithChromium("callers log in, out, and again where a session has ended", async (browser, t) => {
  await using shop = await createShop();
  await writeUsers(shop.folder, ["alice", "bob"]);
  const { token } = await shop.folder.addToken({ note: "of the console's test" });
  await using server = await shop.serve(["-http", "-addr", "127.0.0.1:0"]);
  await using opened = await openConsole(browser, server.url, {
    route: "/look",
    mayComplain: /the server responded with a status of 401/,
  });
  const { page, examine } = opened;
  const cookies = async () => (await page.context().cookies()).map(({ name }) => name);

  const dialog = page.getByRole("dialog", { name: "Your session is over" });
  async function endSession(): Promise<void> {
    const [cookie] = await page.context().cookies();
    const ended = await fetch(`${server.url}/console/session`, {
      method: "DELETE",
      headers: { cookie: `${cookie?.name}=${cookie?.value}`, "sec-fetch-site": "same-origin" },
    });
    assert.equal(ended.status, 204);
    await boxOf(page).press("Control+Enter");
    await dialog.waitFor();
    for (let each = 0; each < 3; each++) await page.keyboard.press("Escape");
    await dialog.waitFor();
  }

  await t.step("a wrong password is refused in a sentence", async () => {
    await page.getByRole("heading", { name: "Log in to Postern" }).waitFor();
    await examine("a login");
    await logIn(page, "alice", "not the password");
    await page.getByRole("alert").getByText("User name or password is wrong").waitFor();
    await examine("a login that failed");
    assert.deepEqual(await cookies(), []);
  });

  await t.step("a right one leads to the page that was wanted", async () => {
    await logIn(page, "alice");
    await page.getByRole("heading", { name: "Look", level: 1 }).waitFor();
    await page.getByRole("status").getByText(/ tables and views that you may read/).waitFor();
    const [cookie] = await page.context().cookies();
    assert.deepEqual([cookie?.httpOnly, cookie?.sameSite], [true, "Strict"]);
    assert.equal(await page.evaluate("document.cookie"), "");
  });

  await t.step("by the keyboard alone, from the link to skip to a result", async () => {
    await page.reload();
    await page.getByRole("status").getByText(/ tables and views that you may read/).waitFor();
    await page.evaluate("document.activeElement.blur()");
    const reach = async (selector: string) => {
      const wanted = page.locator(`${selector}:focus`);
      for (let tabs = 0; await wanted.count() === 0; tabs++) {
        assert.ok(tabs < 20, `Tab never leads to ${selector}`);
        await page.keyboard.press("Tab");
      }
    };
    await reach("a.skip");
    await page.keyboard.press("Enter");
    await page.locator("main:focus").waitFor();
    await page.reload();
    await pagesOf(page).waitFor();
    await reach('nav a[href="#/ask"]');
    await page.keyboard.press("Enter");
    await page.locator(".cm-content").waitFor();
    await page.locator("h1:focus", { hasText: "Ask" }).waitFor();
    await reach(".cm-content");
    await page.keyboard.type("SELECT 'of alice' AS secret");
    await reach("button.primary");
    await page.keyboard.press("Enter");
    await page.getByRole("gridcell", { name: "of alice" }).waitFor();
    await reach("[role=grid]");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "secret, row 1" }).waitFor();
    await page.keyboard.press("Escape");
  });

  await t.step("a session that ends on the server is asked for again, and the text stays", async () => {
    await endSession();
    await examine("a session that is over");
    await page.keyboard.press("Escape");
    await logIn(page, "alice");
    await dialog.waitFor({ state: "detached" });
    assert.equal(await boxOf(page).innerText(), "SELECT 'of alice' AS secret");
    await boxOf(page).press("Control+Enter");
    await page.getByRole("gridcell", { name: "of alice" }).waitFor();
  });

  await t.step("the next caller finds nothing of the one before", async () => {
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByRole("heading", { name: "Log in to Postern" }).waitFor();
    assert.deepEqual(await cookies(), []);
    await logIn(page, "bob");
    await page.locator(".cm-content").waitFor();
    await page.getByRole("region", { name: "To begin with" }).waitFor();
    assert.doesNotMatch(await page.locator("body").innerText(), /alice|secret/);
    await page.getByRole("button", { name: "Log out" }).click();
  });

  await t.step("whoever could not be logged out is told", async () => {
    await logIn(page, "bob");
    const leave = page.getByRole("button", { name: "Log out" });
    await leave.waitFor();
    // a route would have the browser complain of its answer
    await page.evaluate(
      `globalThis.sent = fetch; globalThis.fetch = (path, options) => options?.method === "DELETE"
      ? Promise.resolve(Response.json({ error: "Nothing ends at the moment." }, { status: 503 }))
      : sent(path, options);`,
    );
    await leave.click();
    await page.getByText("You are still logged in. Nothing ends at the moment.").waitFor();
    await page.evaluate("globalThis.fetch = sent");
    await leave.click();
    await page.getByRole("heading", { name: "Log in to Postern" }).waitFor();
  });

  await t.step("nor does one who logs in where the session of another has ended", async () => {
    await logIn(page, "bob");
    await page.locator(".cm-content").waitFor();
    await boxOf(page).fill("SELECT 'of bob' AS secret");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("gridcell", { name: "of bob" }).waitFor();
    await endSession();
    await logIn(page, "alice");
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("region", { name: "To begin with" }).waitFor();
    assert.doesNotMatch(await page.locator("body").innerText(), /bob|secret/);
    await page.getByRole("button", { name: "Log out" }).click();
  });

  await t.step("a token that cannot be sent is forgotten", async () => {
    await page.getByText("Use an API token instead").click();
    const field = page.getByLabel("API token", { exact: true });
    await field.fill("токен");
    await field.press("Enter");
    await page.getByRole("alert").waitFor();
    await logIn(page, "bob");
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByRole("heading", { name: "Log in to Postern" }).waitFor();
  });

  await t.step("an API token stays in the page's memory", async () => {
    await page.getByText("Use an API token instead").click();
    const field = page.getByLabel("API token", { exact: true });
    await field.fill("pst_none");
    await field.press("Enter");
    await page.getByRole("alert").getByText(/does not know this token/).waitFor();
    await field.fill(token);
    await field.press("Enter");
    await boxOf(page).waitFor();
    await page.locator(".cm-content").waitFor();
    await boxOf(page).fill("SELECT 1 AS one");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("gridcell", { name: "1", exact: true }).waitFor();
    assert.deepEqual(await cookies(), []);
    assert.doesNotMatch(await page.evaluate("JSON.stringify([localStorage, sessionStorage])"), /pst_/);
    await page.reload();
    await page.getByRole("heading", { name: "Log in to Postern" }).waitFor();
  });

  await t.step("colours are the system's, or as chosen, on the next visit too", async () => {
    await logIn(page, "bob");
    const background = async () =>
      String(await page.evaluate("getComputedStyle(document.documentElement).backgroundColor"));
    const light = await background();
    await page.getByRole("button", { name: "Colours: system" }).click();
    await page.getByRole("button", { name: "Colours: light" }).click();
    await page.getByRole("button", { name: "Colours: dark" }).waitFor();
    const dark = await background();
    assert.notEqual(dark, light);
    await page.reload();
    await page.getByRole("button", { name: "Colours: dark" }).waitFor();
    assert.equal(await background(), dark);
  });
});

testWithChromium("callers log in by the server's own authorization server", async (browser) => {
  await using database = await createTestDatabase();
  await using oauth = await startOauthServer({
    config: `databases: [${databaseEntry("main", database.name)}]`,
  });
  await using opened = await openConsole(browser, oauth.issuer, {
    route: "/connect/vscode",
    // the pages to log in have no icon
    mayComplain: /the server responded with a status of 401|favicon\.ico$/,
  });
  const { page } = opened;
  const alert = page.getByRole("alert");
  await page.getByRole("link", { name: "Log in" }).waitFor();
  assert.equal(await alert.count(), 0);
  await opened.examine("a login by OAuth");
  const signIn = async () => {
    await page.getByRole("link", { name: "Log in" }).click();
    await page.getByLabel("User name").fill("alice");
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
  };

  // what went wrong is said, once, and a login leads on to the page that was wanted
  await signIn();
  await page.getByRole("button", { name: "Deny" }).click();
  await alert.getByText("Access was denied; log in again.").waitFor();
  await opened.examine("a login that was denied");
  await page.reload();
  await page.getByRole("link", { name: "Log in" }).waitFor();
  assert.equal(await alert.count(), 0);
  for (
    const [reason, sentence] of [["expired", /has expired/], ["failed", /failed/]] as const
  ) {
    await page.goto(`${oauth.issuer}/console/?login=${reason}#/connect/vscode`);
    await alert.getByText(sentence).waitFor();
  }
  await page.goto(`${oauth.issuer}/console/?login=constructor#/connect/vscode`);
  await page.getByRole("link", { name: "Log in" }).waitFor();
  assert.equal(await alert.count(), 0);

  await signIn();
  await page.getByRole("heading", { name: "Allow access?" }).waitFor();
  assert.match(await page.locator("main").innerText(), /Postern's console/);
  await page.getByRole("button", { name: "Allow" }).click();
  await page.getByRole("article", { name: "VS Code" }).waitFor();
  assert.equal(new URL(page.url()).hash, "#/connect/vscode");

  // an access token that has ended is renewed
  await page.context().clearCookies({ name: "postern_console" });
  await page.reload();
  await page.getByRole("article", { name: "VS Code" }).waitFor();
  await page.context().clearCookies({ name: "postern_console" });
  await opened.go("/ask/data/main/SELECT%201%20AS%20one");
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByRole("gridcell", { name: "1", exact: true }).waitFor();

  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByRole("link", { name: "Log in" }).waitFor();
  assert.deepEqual((await page.context().cookies()).filter(({ name }) => /^postern_console/.test(name)), []);
});

testWithChromium("a server that goes away is waited for", async (browser) => {
  await using shop = await createShop();
  const flags = ["-http", "-no-auth", "-addr", `127.0.0.1:${freePort()}`];
  const first = await shop.serve(flags);
  await using opened = await openConsole(browser, first.url, {
    route: "/look",
    mayComplain: /net::ERR_(?:CONNECTION|EMPTY|INCOMPLETE|SOCKET)/,
  });
  const { page } = opened;
  await page.getByRole("status").getByText(/ tables and views that you may read/).waitFor();
  assert.equal(await first.stop(), 0);
  await page.getByRole("link", { name: "Use" }).click();
  const banner = page.getByRole("alert").getByText("The server cannot be reached. This page waits for it.");
  await banner.waitFor();
  await page.getByRole("button", { name: "Try again" }).waitFor();
  await opened.examine("a server that is away");
  await using _second = await shop.serve(flags);
  await banner.waitFor({ state: "detached" });
  await page.getByRole("region", { name: "Tools" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Try again" }).count(), 0);
});

testWithChromium("below a prefix that a proxy takes off, all stays below it", async (browser) => {
  await using shop = await createShop();
  await writeUsers(shop.folder, ["alice"]);
  await using server = await shop.serve(["-http", "-addr", "127.0.0.1:0"]);
  await using proxy = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const { pathname, search } = new URL(request.url);
    if (!pathname.startsWith("/tools/")) return new Response(null, { status: 404 });
    const headers = new Headers(request.headers);
    // it would have to go with the Host, which fetch sets
    headers.delete("origin");
    return fetch(server.url + pathname.slice("/tools".length) + search, {
      method: request.method,
      headers,
      body: request.body,
      redirect: "manual",
    });
  });
  const url = `http://127.0.0.1:${proxy.addr.port}/tools`;
  await using opened = await openConsole(browser, url, { route: "/connect/vscode" });
  const { page } = opened;
  await logIn(page, "alice");
  await page.getByRole("article", { name: "VS Code" }).getByText(`${url}/mcp/v1`).first().waitFor();
  const [cookie] = await page.context().cookies();
  assert.equal(cookie?.path, "/tools/console");
  await opened.go("/ask/data/shop/SELECT%201%20AS%20one");
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByRole("gridcell", { name: "1", exact: true }).waitFor();
});
