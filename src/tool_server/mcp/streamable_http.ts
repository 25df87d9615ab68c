import { CLIENT_CAPABILITIES_META_KEY, Server } from "@modelcontextprotocol/server";
import { createSharedDeadline } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";
import { isMap, valueAt } from "../../core/yaml/value_tree.ts";
import { answerReply, jsonRpcReply } from "../http_replies.ts";
import type { CallClient, CallContext } from "../call_context.ts";
import { callClientOf, type ProgressNotification } from "./call_client.ts";
import { createChangeStreams, type ListenRequest } from "./change_streams.ts";
import { capabilitiesOf, createJsonRpc, replyText, type Revision } from "./json_rpc.ts";
import { errorObject, errorReply, type JsonRpcReply } from "./json_rpc_error.ts";
import type { McpOptions } from "./methods.ts";
import { exchangeOf } from "./protocol_version.ts";
import type { Tasks } from "./tasks.ts";

/** A reply of which nothing is known for so long opens an event stream: what is between may end a silent connection. */
const defaultSilentMs = 15_000;

type Reply = JsonRpcReply | JsonRpcReply[] | undefined;

/** One request over HTTP whose body was read and parsed. */
interface ServedRequest {
  readonly request: Request;
  readonly message: unknown;
  /** Its call, by what its client can do. */
  readonly callFor: (client?: CallClient) => CallContext;
  /** Whether its caller would be let in now: asked as long as an event stream tells of changes. */
  readonly isStillAdmitted: () => Promise<boolean>;
  readonly reply: (reply: JsonRpcReply | JsonRpcReply[], revision: Revision) => Response;
}

/** `POST /mcp/v1`: bare JSON-RPC, and MCP's Streamable HTTP in every revision. */
export function createStreamableHttp(
  options: McpOptions & {
    readonly logger: Logger;
    readonly tasks?: Tasks | undefined;
    readonly silentMs?: number;
  },
) {
  const { changes, calls, logger, tasks, silentMs = defaultSilentMs } = options;
  const jsonRpc = createJsonRpc(options);
  const silence = createSharedDeadline(silentMs);
  const streams = changes && createChangeStreams({
    changes,
    calls,
    // it is asked what it offers, and nothing else
    serverOf: () =>
      new Server({ ...options.serverInfo }, { capabilities: capabilitiesOf({ tasks, tells: true }) }),
    logger,
  });

  /** Answers with JSON; with an event stream where there is something to tell before the result, or nothing for long. */
  async function answer(
    { message, callFor, reply }: ServedRequest,
    revision: Revision,
    { takesEvents, ...facts }: Omit<Parameters<typeof callClientOf>[0], "notify"> & {
      readonly takesEvents: boolean;
    },
  ): Promise<Response> {
    if (!takesEvents) {
      const client = callClientOf({ ...facts, meta: undefined, notify() {} });
      return answered(await jsonRpc.answer(message, callFor(client), revision), revision, reply);
    }
    // most requests need none
    let opened: ReturnType<typeof createEventStream> | undefined;
    const stream = () => opened ??= createEventStream(silentMs);
    const client = callClientOf({ ...facts, notify: (notification) => stream().tell(notification) });
    const answering = jsonRpc.answer(message, callFor(client), revision);
    const first = await silence.race(
      client.notifyProgress === undefined ? answering : Promise.race([answering, stream().told]),
      opensStream,
    );
    if (first !== opensStream) return answered(first, revision, reply);
    answering.then(stream().end, (error) => {
      logger.error("A reply could not be made", { error });
      stream().end(undefined);
    });
    return stream().open();
  }

  return {
    async serve(served: ServedRequest): Promise<Response> {
      const { request: { headers }, message, callFor, reply } = served;
      const exchange = exchangeOf(headers, message);
      switch (exchange.kind) {
        case "accepted":
          return new Response(null, { status: 202 });
        case "refused":
          return jsonRpcReply(exchange.status, exchange.reply);
        case "bare":
          return answered(await jsonRpc.answer(message, callFor()), "older", reply);
        case "older": {
          // an older client has said at its start what it can do, to nobody who is still there
          const { takesLinks } = exchange;
          const meta = valueAt(message, ["params", "_meta"]);
          return await answer(served, "older", { meta, takesLinks, takesEvents: true });
        }
        case "now": {
          if (streams !== undefined && asksToListen(message)) {
            return await streams.listen({ ...served, message, caller: callFor() }).catch((error) =>
              answerReply(errorReply(message.id, errorObject(error)))
            );
          }
          const { _meta: meta, inputResponses } = exchange.params;
          const capabilities = valueAt(meta, [CLIENT_CAPABILITIES_META_KEY]);
          const answers = isMap(inputResponses) ? inputResponses : undefined;
          const { takesEvents } = exchange;
          return await answer(served, "now", { meta, capabilities, answers, takesLinks: true, takesEvents });
        }
      }
    },
    /** Ends the event streams that are open. */
    async close(): Promise<void> {
      silence.close();
      await streams?.close();
    },
  };
}

export type StreamableHttp = ReturnType<typeof createStreamableHttp>;

/** Nobody waits for the answer to a notification. */
function answered(made: Reply, revision: Revision, reply: ServedRequest["reply"]): Response {
  return made === undefined ? new Response(null, { status: 202 }) : reply(made, revision);
}

const opensStream = Symbol("something is told before the result, or nothing for long");

/** An event stream for one reply (MCP, Streamable HTTP), which begins when it is opened. */
function createEventStream(silentMs: number) {
  const told = Promise.withResolvers<typeof opensStream>();
  const waiting: string[] = [];
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let comments: ReturnType<typeof setInterval> | undefined;
  let hasEnded = false;

  function write(text: string): void {
    if (hasEnded) return;
    if (controller === undefined) waiting.push(text);
    else controller.enqueue(encoder.encode(text));
  }

  function stop(): void {
    clearInterval(comments);
    hasEnded = true;
  }

  return {
    /** Resolves once there is something to tell. */
    told: told.promise,
    tell(notification: ProgressNotification): void {
      write(eventText(JSON.stringify({ jsonrpc: "2.0", ...notification })));
      told.resolve(opensStream);
    },
    open(): Response {
      const body = new ReadableStream<Uint8Array>({
        start(opened) {
          controller = opened;
          for (const text of waiting.length === 0 ? [comment] : waiting) write(text);
          comments = setInterval(() => write(comment), silentMs);
        },
        cancel: stop,
      });
      return new Response(body, {
        headers: {
          "content-type": "text/event-stream",
          "cache-control": "no-cache, no-transform",
          "x-accel-buffering": "no",
          "x-content-type-options": "nosniff",
        },
      });
    },
    /** Whoever has gone is told nothing. */
    end(reply: Reply): void {
      if (reply !== undefined) write(eventText(replyText(reply)));
      if (!hasEnded) controller?.close();
      stop();
    },
  };
}

const encoder = new TextEncoder();
const comment = ":\n\n";

const eventText = (data: string) => `event: message\ndata: ${data}\n\n`;

function asksToListen(message: unknown): message is ListenRequest["message"] {
  const id = valueAt(message, ["id"]);
  return valueAt(message, ["method"]) === "subscriptions/listen" &&
    (typeof id === "string" || typeof id === "number");
}
