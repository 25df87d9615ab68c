import { z } from "zod";
import { runSql } from "../tests/support/database.ts";
import { httpLoad, type LoadRequest } from "./http_load.ts";
import { cpuMs, median, printTable, quantile } from "./measure.ts";

/** Texts with their embeddings. */
export interface Embedded {
  readonly texts: readonly string[];
  vectorOf(place: number): Float32Array;
}

interface RagServer {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
}

/** Servers over one table, `documents`, of so many rows, each with the pipelines `vectors` and `docs`, which is hybrid. */
export interface PeerSubject {
  readonly rows: number;
  /** The database's URL. */
  readonly database: string;
  readonly servers: readonly RagServer[];
}

interface MeasureOptions {
  readonly subjects: readonly PeerSubject[];
  readonly questions: Embedded;
}

const rounds = 5;
const clients = 8;
const secondsOfLoad = 3;
const askedForRecall = 100;
/** Questions a round, one after the other; a server may read the whole table for a hybrid one. */
const kinds = [{ pipeline: "vectors", asked: 40, isLoaded: true }, {
  pipeline: "docs",
  asked: 6,
  isLoaded: false,
}];
const headers = { "content-type": "application/json" };

/**
 * Servers in turn, question by question and then in short rounds of load; medians of the rounds, of which the first is
 * left out. Recall is of the ten documents that a scan of the whole table finds.
 */
export async function measureBesideRagPeer({ subjects, questions }: MeasureOptions): Promise<void> {
  const measured = subjects.flatMap((subject) =>
    kinds.map((kind) => ({
      ...kind,
      subject,
      servers: subject.servers.map((server) => ({ ...server, ...figures() })),
    }))
  );
  for (let round = 0; round <= rounds; round++) {
    for (const { pipeline, asked, isLoaded, servers } of measured) {
      const times = new Map(servers.map((server) => [server, new Array<number>()]));
      for (let at = 0; at < asked; at++) {
        // neither finds what the other has just read into the caches more often
        for (const server of at % 2 === 0 ? servers : servers.toReversed()) {
          const request = requestOf(questions.texts[(round * asked + at) % questions.texts.length] ?? "");
          const one = await load(server, pipeline, [request], { connections: 1, count: 1 });
          times.get(server)?.push(...one.times);
        }
      }
      for (const server of servers) {
        if (round > 0) server.ms.push(median(times.get(server) ?? []));
        if (!isLoaded) continue;
        const before = await cpuMs(server.pid);
        const all = questions.texts.map(requestOf);
        const loaded = await load(server, pipeline, all, { connections: clients, seconds: secondsOfLoad });
        if (round === 0) continue;
        server.perSecond.push(loaded.perSecond);
        server.p99.push(quantile(loaded.times, 0.99));
        server.cpu.push((await cpuMs(server.pid) - before) / loaded.count);
      }
    }
  }
  const figure = (values: readonly number[], digits: number) =>
    values.length === 0 ? "" : median(values).toFixed(digits);
  const lines: string[][] = [];
  for (const { subject, pipeline, servers, isLoaded } of measured) {
    for (const server of servers) {
      lines.push([
        String(subject.rows),
        isLoaded ? "vectors" : "both",
        server.name,
        figure(server.ms, 1),
        figure(server.perSecond, 0),
        figure(server.p99, 0),
        figure(server.cpu, 2),
        isLoaded ? (await recallOf(subject.database, server, pipeline, questions)).toFixed(3) : "",
      ]);
    }
  }
  const loadHeads = [`answers/s, ${clients} clients`, "their p99, ms", "CPU an answer, ms"];
  printTable(["rows", "search", "server", "p50, ms", ...loadHeads, "recall@10"], lines);
}

function figures() {
  return {
    ms: new Array<number>(),
    perSecond: new Array<number>(),
    p99: new Array<number>(),
    cpu: new Array<number>(),
  };
}

function requestOf(query: string): LoadRequest {
  return { headers, body: JSON.stringify({ query }), expect: "Yes." };
}

function load(
  { url }: RagServer,
  pipeline: string,
  requests: readonly LoadRequest[],
  bounds: { connections: number; count?: number; seconds?: number },
) {
  return httpLoad({ url: `${url}/v1/pipelines/${pipeline}`, requests, ...bounds });
}

const answer = z.object({ sources: z.array(z.object({ id: z.string() })) });

async function recallOf(
  database: string,
  { url }: RagServer,
  pipeline: string,
  { texts, vectorOf }: Embedded,
): Promise<number> {
  const shares: number[] = [];
  for (const [place, query] of texts.slice(0, askedForRecall).entries()) {
    const exact = await runSql(
      database,
      `SET enable_indexscan = off; SELECT id FROM documents ORDER BY embedding <=> '[${
        vectorOf(place).join(",")
      }]' LIMIT 10`,
    );
    const body = JSON.stringify({ query, include_sources: true });
    const response = await fetch(`${url}/v1/pipelines/${pipeline}`, { method: "POST", headers, body });
    const found = new Set(answer.parse(await response.json()).sources.map(({ id }) => id));
    shares.push(exact.filter(([id]) => found.has(String(id))).length / exact.length);
  }
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}
