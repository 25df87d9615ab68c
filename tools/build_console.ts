/** Builds the console's page of `console/` into what the server answers with: `src/console/page_files.json`. */
import { consoleFiles } from "./console_files.ts";

const file = new URL("../src/console/page_files.json", import.meta.url);
await Deno.writeTextFile(
  file,
  `${JSON.stringify(await consoleFiles(), null, 1)}\n`,
);
