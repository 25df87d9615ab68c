import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";

/** The console in a browser that nobody has used before. */
export interface OpenConsole extends AsyncDisposable {
  readonly page: Page;
  /** Leads to another route, as a link does. */
  go(route: string): Promise<void>;
  /** What tools were called with, since the page was opened. */
  toolCalls(): readonly { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> }[];
  /** Fails where axe finds a fault, or the page is wider than the window: light and dark, at a desk and on a phone. */
  examine(state: string): Promise<void>;
}

interface ConsoleOptions {
  /** Without `#`. */
  readonly route?: string;
  /** What the browser may complain of: by itself it does so of each reply of 400 and above. */
  readonly mayComplain?: RegExp;
  /** Called before the page is opened. */
  readonly prepare?: (page: Page) => Promise<unknown>;
}

const desk = { width: 1280, height: 800 };
const phone = { width: 390, height: 844 };

/**
 * Opens the console of the server at `url`. It fails when it is closed where the page asked another host for something, or
 * the browser complained: of a policy that was broken, of an error that nothing caught.
 */
export async function openConsole(
  browser: Browser,
  url: string,
  { route = "/", mayComplain, prepare }: ConsoleOptions = {},
): Promise<OpenConsole> {
  const context = await browser.newContext({
    viewport: desk,
    colorScheme: "light",
    reducedMotion: "reduce",
    locale: "en-GB",
    timezoneId: "UTC",
    acceptDownloads: true,
  });
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const [foreign, complaints]: [string[], string[]] = [[], []];
  const calls: { name: string; arguments: Record<string, unknown> }[] = [];
  const { origin } = new URL(url);
  context.on("request", (request) => {
    const asked = new URL(request.url());
    if (asked.protocol !== "data:" && asked.origin !== origin) foreign.push(asked.href);
    if (!asked.pathname.endsWith("/console/mcp")) return;
    const { method, params } = request.postDataJSON();
    if (method === "tools/call") calls.push(params);
  });
  page.on("console", (message) => {
    const text = `${message.text()} ${message.location().url}`;
    if (message.type() === "error" && mayComplain?.test(text) !== true) complaints.push(text);
  });
  page.on("pageerror", (error) => complaints.push(String(error.stack)));
  page.on("dialog", (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await prepare?.(page);
  await page.goto(`${url}/console/#${route}`);
  return {
    page,
    async go(route) {
      await page.evaluate(`location.hash = ${JSON.stringify(route)}`);
    },
    toolCalls: () => calls,
    async examine(state) {
      if (await page.evaluate("typeof axe") === "undefined") await page.evaluate(axe.source);
      const before = page.viewportSize() ?? desk;
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        for (const size of [desk, phone]) {
          await page.setViewportSize(size);
          const where = `${state}, ${colorScheme}, ${size.width} wide`;
          assert.deepEqual(await page.evaluate(violations), [], where);
          assert.equal(
            await page.evaluate("document.scrollingElement.scrollWidth"),
            size.width,
            `${where}: no more`,
          );
        }
      }
      await page.emulateMedia({ colorScheme: "light" });
      await page.setViewportSize(before);
    },
    async [Symbol.asyncDispose]() {
      await context.close();
      assert.deepEqual({ foreign, complaints }, { foreign: [], complaints: [] });
    },
  };
}

const violations = `axe.run({ preload: false }).then(({ violations }) => violations.flatMap(({ id, nodes }) =>
  nodes.map(({ html, failureSummary }) => id + ": " + html.slice(0, 200) + "\\n" + failureSummary)))`;

/** With SCREENSHOTS=1, writes the page as the documentation shows it: its top, without focus, whatever it took. */
export async function takeScreenshot(page: Page, name: string): Promise<void> {
  if (Deno.env.get("SCREENSHOTS") !== "1") return;
  await page.mouse.move(0, 0);
  await page.evaluate(`document.activeElement.blur();
    for (const each of document.querySelectorAll("html, main *")) each.scrollTop = 0;
    for (const each of document.querySelectorAll("[role=status]")) {
      for (const node of each.childNodes) {
        node.data = node.data?.replace(/\\d+\\.\\d\\d s/, "0.02 s").replace(/\\d+ tokens/, "712 tokens");
      }
    }`);
  const image = await page.screenshot({ animations: "disabled", caret: "hide" });
  assert.ok(image.length < 150_000, `${name} has ${image.length} bytes`);
  const file = new URL(`../../../docs/images/${name}.png`, import.meta.url);
  await Deno.mkdir(new URL("./", file), { recursive: true });
  await Deno.writeFile(file, Buffer.from(image));
}
