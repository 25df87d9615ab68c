/** Writes the page of all settings, `docs/settings.md`. Run `deno fmt docs` after it. */
import { settingsPage } from "./settings_page.ts";

await Deno.writeTextFile(new URL("../docs/settings.md", import.meta.url), settingsPage());
