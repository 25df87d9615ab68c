import { httpLoad, type LoadRequest } from "./http_load.ts";
import { quantile } from "./measure.ts";

interface WrkLoad {
  readonly url: string;
  readonly request: LoadRequest;
  readonly connections: number;
  readonly seconds: number;
}

export interface WrkResult {
  readonly count: number;
  readonly perSecond: number;
  readonly p99Ms: number;
}

/** Whether `wrk` is there, which leaves more of the machine to the servers than a client in JavaScript does. */
export const hasWrk = await new Deno.Command("wrk", { args: ["-v"], stdout: "null", stderr: "null" }).output()
  .then(() => true, () => false);

/** Sends one request over and over, by `wrk` where it is; throws where a reply is a refusal. */
export async function wrkLoad({ url, request, connections, seconds }: WrkLoad): Promise<WrkResult> {
  if (!hasWrk) {
    const { times, perSecond } = await httpLoad({ url, requests: [request], connections, seconds });
    return { count: times.length, perSecond, p99Ms: quantile(times, 0.99) };
  }
  // wrk reads no reply: one that is looked at stands for the others
  await httpLoad({ url, requests: [request], connections: 1, count: 1 });
  const script = await Deno.makeTempFile({ suffix: ".lua" });
  try {
    await Deno.writeTextFile(script, luaScript(request));
    const { stdout } = await new Deno.Command("wrk", {
      args: ["-t", "1", "-c", String(connections), "-d", `${seconds}s`, "-s", script, url],
    }).output();
    const report = new TextDecoder().decode(stdout);
    const [, count, microseconds, p99, faults] =
      /^REPORT (\d+) (\d+) (\d+) (\d+)$/m.exec(report)?.map(Number) ??
        [];
    if (count === undefined || microseconds === undefined || p99 === undefined || faults !== 0) {
      throw new Error(`wrk: ${report}`);
    }
    return { count, perSecond: count * 1e6 / microseconds, p99Ms: p99 / 1000 };
  } finally {
    await Deno.remove(script);
  }
}

function luaScript({ headers = {}, body }: LoadRequest): string {
  // with a blank on both sides, or two brackets would begin another string
  const text = (value: string) => ` [==[${value}]==] `;
  return [
    `wrk.method = "POST"`,
    `wrk.body = ${text(body)}`,
    ...Object.entries(headers).map(([name, value]) => `wrk.headers[${text(name)}] = ${text(value)}`),
    `done = function(summary, latency)`,
    `  local e = summary.errors`,
    `  local faults = e.status + e.connect + e.read + e.write + e.timeout`,
    `  io.write(string.format("REPORT %d %d %d %d\\n", summary.requests, summary.duration,`,
    `    latency:percentile(99), faults))`,
    `end`,
  ].join("\n");
}
