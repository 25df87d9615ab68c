/** Writes the page of all errors, `docs/errors.md`. Run `deno fmt docs` after it. */
import { errorsPage } from "./errors_page.ts";

await Deno.writeTextFile(new URL("../docs/errors.md", import.meta.url), errorsPage());
