/** Writes the page that hosts show results in, as a module: `src/tool_server/view/view_html.ts`. */
import { viewModule, viewPage } from "./view_page.ts";

const file = new URL("../src/tool_server/view/view_html.ts", import.meta.url);
await Deno.writeTextFile(file, viewModule(await viewPage()));
