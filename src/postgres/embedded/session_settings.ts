import { encode, messagesIn, queryMessage, readTexts } from "./wire_protocol.ts";
import { quoteIdentifier, quoteLiteral } from "../sql_text.ts";

const maxReplayBytes = 64 * 1024;

/**
 * What a client set for its session. The one backend session is reset whenever another client gets it, so the settings
 * are made again each time that this client has it: those of the startup packet, and each SET outside of a transaction.
 *
 * @param startup the startup packet's parameters, `user` among them
 */
export function createSessionSettings(startup: ReadonlyMap<string, string>) {
  const user = startup.get("user") ?? "";
  const parameters = runtimeParameters(startup);
  const reset = encode(
    queryMessage("DISCARD ALL"),
    queryMessage(`SET SESSION AUTHORIZATION ${quoteIdentifier(user)}`),
    ...parameters.map(([name, value]) =>
      queryMessage(`SELECT pg_catalog.set_config(${quoteLiteral(name)}, ${quoteLiteral(value)}, false)`)
    ),
  );
  let replay = new Uint8Array(0);
  let sessionTimeoutMs = durationMs(new Map(parameters).get("statement_timeout"));
  let transactionTimeoutMs: number | undefined;

  return {
    /** Messages that take the backend session from any client's state to this one's. */
    enterMessages: () => encode(reset, replay),
    /**
     * Takes note of messages that ran without error; `alone`: they began and ended outside of a transaction. Those that
     * begin one themselves set nothing for longer than it lasts.
     */
    noteExecuted(messages: Uint8Array, alone: boolean): void {
      const texts = statementTexts(messages);
      const isOfSession = alone && texts.length > 0 && texts.every((text) => setsSomething.test(text));
      if (isOfSession && replay.length + messages.length <= maxReplayBytes) {
        replay = encode(replay, messages);
      }
      const timeoutMs = timeoutIn(texts);
      if (timeoutMs === undefined) return;
      if (isOfSession) sessionTimeoutMs = timeoutMs;
      else transactionTimeoutMs = timeoutMs;
    },
    noteTransactionEnd(): void {
      transactionTimeoutMs = undefined;
    },
    /**
     * The client's own `statement_timeout` in milliseconds for messages that are about to run, which may set it
     * themselves; undefined where nothing does, 0 for no limit.
     */
    statementTimeoutMs: (messages: Uint8Array): number | undefined =>
      timeoutIn(statementTexts(messages)) ?? transactionTimeoutMs ?? sessionTimeoutMs,
  };
}

const setsSomething = /^\s*(?:set|reset|select\s+(?:pg_catalog\.)?set_config\s*\()/i;

/** The SQL of Query and Parse messages. */
function statementTexts(messages: Uint8Array): string[] {
  return messagesIn(messages).flatMap(({ type, body }) => {
    if (type === "Q") return readTexts(body, 1);
    return type === "P" ? readTexts(body, 2).slice(1) : [];
  });
}

/** Run-time parameters of a startup packet, those in `options` too (manual, "StartupMessage" and libpq's `options`). */
function runtimeParameters(startup: ReadonlyMap<string, string>): [string, string][] {
  const fromOptions = [...(startup.get("options") ?? "").matchAll(/(?:-c\s*|--)([\w.]+)=((?:\\.|\S)*)/g)]
    .map(([, name = "", value = ""]): [string, string] => [name, value.replace(/\\(.)/g, "$1")]);
  const named = [...startup].filter(([name]) =>
    !["user", "database", "options", "replication"].includes(name) && !name.startsWith("_pq_.")
  );
  return [...fromOptions, ...named];
}

/** The last `statement_timeout` that statements set: what others only mention is no setting. */
function timeoutIn(texts: readonly string[]): number | undefined {
  const values = texts.filter((text) => setsSomething.test(text)).flatMap((text) =>
    [...text.matchAll(timeoutSet)].map(([, value]) => value)
  );
  return durationMs(values.at(-1));
}

const timeoutSet =
  /(?:^\s*set\s+(?:local\s+|session\s+)?statement_timeout\s*(?:=|to\b)|\bset_config\s*\(\s*'statement_timeout'\s*,)\s*'?\s*(\d+\s*[a-z]*)/gi;

const unitsMs: Record<string, number> = {
  us: 0.001,
  ms: 1,
  s: 1000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** PostgreSQL's text of a time; milliseconds where it has no unit. */
function durationMs(text: string | undefined): number | undefined {
  const [, count, unit = ""] = text?.match(/^\s*(\d+)\s*([a-z]*)/i) ?? [];
  if (count === undefined) return undefined;
  return Math.ceil(Number(count) * (unitsMs[unit.toLowerCase()] ?? 1));
}
