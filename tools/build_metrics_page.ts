/** Writes the page of all metrics, `docs/metrics.md`. Run `deno fmt docs` after it. */
import { metricsPage } from "./metrics_page.ts";

await Deno.writeTextFile(new URL("../docs/metrics.md", import.meta.url), metricsPage());
