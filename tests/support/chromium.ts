import { type Browser, chromium } from "playwright-core";
import { testWithPostgres } from "./database.ts";

const path = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
});

/** A test in Chromium, with PostgreSQL; ignored where one of them is missing. */
export function testWithChromium(
  name: string,
  run: (browser: Browser, t: Deno.TestContext) => Promise<void>,
  define = testWithPostgres,
): void {
  if (path === undefined) {
    Deno.test({ name: `${name} (needs chromium, which is not installed)`, ignore: true, fn: () => {} });
    return;
  }
  define(name, async (t) => {
    const browser = await chromium.launch({ executablePath: path, args: ["--no-sandbox"] });
    try {
      await run(browser, t);
    } finally {
      await browser.close();
    }
  });
}
