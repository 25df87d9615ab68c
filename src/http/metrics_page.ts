import type { MetricFamily } from "../core/metrics/metric_family.ts";
import { createMetricsText } from "./metrics_text.ts";

const path = "/metrics";

/** Serves metrics in Prometheus's text format, as they are at each request. */
export async function createMetricsPage(
  families: readonly MetricFamily[],
): Promise<{ answer(request: Request): Promise<Response> }> {
  const text = await createMetricsText(families);
  return {
    async answer(request) {
      if (new URL(request.url).pathname !== path) return new Response("Not Found\n", { status: 404 });
      if (request.method !== "GET") {
        return new Response("Method Not Allowed\n", { status: 405, headers: { allow: "GET, HEAD" } });
      }
      return new Response(await text.write(), { headers: { "content-type": text.contentType } });
    },
  };
}
