import assert from "node:assert/strict";
import { assertHas } from "../../support/assert_has.ts";
import { password } from "../../support/accounts.ts";
import {
  createFormBrowser,
  createOauthClient,
  type FormBrowser,
  type OpenPage,
  startOauthServer,
} from "../../support/oauth_server.ts";
import { createToolClient } from "../../support/tool_client.ts";

type OauthClient = Awaited<ReturnType<typeof createOauthClient>>;

/** One login in a tab of a browser whose other tab logs in somebody else for another client. */
interface Tab {
  readonly client: OauthClient;
  readonly name: string;
  readonly username: string;
  page?: OpenPage;
}

/** All orders of so many steps of each tab. */
function orders(first: number, second: number): string[] {
  if (first === 0 || second === 0) return ["A".repeat(first) + "B".repeat(second)];
  return [
    ...orders(first - 1, second).map((rest) => `A${rest}`),
    ...orders(first, second - 1).map((rest) => `B${rest}`),
  ];
}

async function step(browser: FormBrowser, tab: Tab): Promise<void> {
  const { page, username } = tab;
  if (page === undefined) tab.page = await browser.open(tab.client.authorizeUrl({ state: tab.name }));
  else if (/name="password"/.test(page.html)) {
    tab.page = await browser.submit(page, { username, password, action: "login" });
  } else if (/value="allow"/.test(page.html)) tab.page = await browser.submit(page, { action: "allow" });
}

Deno.test("of two logins at once in one browser, each lets its own client act for its own account", async () => {
  const database = (name: string) =>
    `{ name: of_${name}, host: 127.0.0.1, port: 1, available_to_users: [${name}] }`;
  await using oauth = await startOauthServer({
    config: `databases: [${database("alice")}, ${database("bob")}]`,
  });
  const { issuer } = oauth;
  const clients = await Promise.all(
    ["A", "B"].map((name) => createOauthClient(issuer, { client_name: name })),
  );
  const [clientA, clientB] = clients;
  assert.ok(clientA !== undefined && clientB !== undefined);
  // which of them begins is the same
  for (const order of orders(2, 3).map((rest) => `A${rest}`)) {
    const browser = createFormBrowser(issuer);
    const tabs: Record<string, Tab> = {
      A: { client: clientA, name: "A", username: "alice" },
      B: { client: clientB, name: "B", username: "bob" },
    };
    for (const name of order) {
      const tab = tabs[name];
      assert.ok(tab !== undefined);
      await step(browser, tab);
      const { html = "" } = tab.page ?? {};
      if (/value="allow"/.test(html)) {
        assert.match(html, new RegExp(`“<strong>${tab.name}</strong>”`), order);
        assert.match(html, new RegExp(`account <strong>${tab.username}</strong>`), order);
      }
    }
    for (const { client, name, username, page } of Object.values(tabs)) {
      const end = new URL(page?.url ?? "");
      assert.equal(end.searchParams.get("state"), name, `${order} ${name} ${page?.html}`);
      const { body, status } = await client.exchange(end.searchParams.get("code") ?? "");
      assert.equal(status, 200, order);
      const { data } = await createToolClient({ url: issuer, token: String(body["access_token"]) })
        .call("list_databases", {});
      assertHas(data, { databases: [{ name: `of_${username}` }] });
    }
  }
});
