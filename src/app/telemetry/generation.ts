import type { Sample } from "../../core/metrics/metric_family.ts";
import { sha256 } from "../../core/text/sha256.ts";

const digits = 12;

/**
 * What tells one content of a file from another, where several servers should have the same: for
 * `ServerMetrics.generations`.
 *
 * @param of `configuration`, `tokens` or `users`
 * @param text what the server runs with at the moment; undefined where there is no file
 */
export function readGeneration(of: string, text: () => string | undefined): () => Sample[] {
  let known: { readonly text: string | undefined; readonly generation: string } | undefined;
  return () => {
    const current = text();
    if (known === undefined || known.text !== current) {
      known = {
        text: current,
        generation: current === undefined ? "none" : sha256(current).slice(0, digits),
      };
    }
    return [{ labels: [of, known.generation], value: 1 }];
  };
}
