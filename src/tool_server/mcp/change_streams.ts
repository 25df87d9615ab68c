import {
  createMcpHandler,
  type McpServerFactory,
  type Server,
  type ServerEvent,
} from "@modelcontextprotocol/server";
import type { Calls } from "../../calls/calls.ts";
import type { RequestId } from "../../calls/calls_under_way.ts";
import { AppError } from "../../core/app_error.ts";
import { onAbort } from "../../core/async/abort.ts";
import type { Logger } from "../../core/logger.ts";
import { callerKey, type Principal } from "../../core/principal.ts";
import type { CallContext } from "../call_context.ts";
import type { Change, Changes } from "../changes.ts";
import { isMap, valueAt } from "../../core/yaml/value_tree.ts";

/** Streams that may be open at once, in all and of one caller. */
const maxStreams = 1000;
const maxStreamsOfCaller = 20;
/** Addresses of resources that one stream may be about, and characters of one. */
const maxUris = 1000;
const maxUriLength = 2000;
/** How often it is asked whether a stream's caller is still let in. Most ends of tokens are told of sooner. */
const admissionCheckMs = 30_000;

interface OpenStream {
  readonly of: string;
  readonly isStillAdmitted: () => Promise<boolean>;
  readonly end: () => Promise<void>;
}

/** A request to listen, whose body was parsed. */
export interface ListenRequest {
  readonly request: Request;
  readonly message: { readonly id: RequestId; readonly params?: unknown };
  readonly caller: CallContext;
  readonly isStillAdmitted: () => Promise<boolean>;
}

/**
 * The event streams that tell clients of changes (MCP, Subscriptions). A stream ends when its client leaves or cancels it,
 * when its token or session ends, and when the server stops. It does not count as a call.
 */
export function createChangeStreams(
  { changes, calls, serverOf, logger, checkEveryMs = admissionCheckMs }: {
    readonly changes: Changes;
    readonly calls: Pick<Calls, "underWay">;
    readonly serverOf: McpServerFactory;
    readonly logger: Logger;
    readonly checkEveryMs?: number;
  },
) {
  const streams = new Set<OpenStream>();
  let timer: ReturnType<typeof setInterval> | undefined;

  /** One that cannot be checked, or takes long, holds up no other. */
  async function endThoseNotAdmitted(): Promise<void> {
    await Promise.all([...streams].map(async (stream) => {
      try {
        if (!await stream.isStillAdmitted()) await stream.end();
      } catch (error) {
        logger.warn("An event stream could not be checked", { error });
      }
    }));
  }

  function keep(stream: OpenStream): () => void {
    streams.add(stream);
    timer ??= setInterval(endThoseNotAdmitted, checkEveryMs);
    return () => {
      streams.delete(stream);
      if (streams.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }

  /** @throws {AppError} `overloaded` where there is no room */
  function checkRoom(of: string): void {
    const ofCaller = [...streams].filter((stream) => stream.of === of).length;
    if (ofCaller < maxStreamsOfCaller && streams.size < maxStreams) return;
    const reason = ofCaller < maxStreamsOfCaller
      ? "the server has no room for more event streams"
      : `the caller has ${ofCaller} event streams open; end one of them`;
    throw new AppError("overloaded", `Cannot listen: ${reason}`, { data: { retryAfterSeconds: 30 } });
  }

  return {
    /** @throws {AppError} `overloaded` where there is no room, `invalid` where it asks for too much */
    async listen({ request, message, caller, isStillAdmitted }: ListenRequest): Promise<Response> {
      const of = callerKey(caller.principal);
      const uris = urisOf(message.params);
      if (uris.length > maxUris || uris.some((uri) => uri.length > maxUriLength)) {
        throw new AppError(
          "invalid",
          `Cannot listen: notifications.resourceSubscriptions: at most ${maxUris} resources, whose addresses have at ` +
            `most ${maxUriLength} characters`,
        );
      }
      checkRoom(of);
      let hasBegun = false;
      // the SDK's handler tells all its streams the same, so each caller has one of its own
      const handler = createMcpHandler(serverOf, {
        bus: {
          publish() {},
          subscribe(listener) {
            hasBegun = true;
            const unsubscribe = changes.subscribe((change) => listener(eventOf(change)), {
              principal: caller.principal,
              uris,
            });
            const { signal, finish } = calls.underWay.begin(caller.principal, request.signal, message.id);
            const end = () => void handler.close();
            onAbort(signal, end);
            return () => {
              unsubscribe();
              forget();
              finish();
            };
          },
        },
        onerror: (error) => logger.debug("MCP exchange failed", { error }),
      });
      // from now on, so that of many who ask at the same moment no more get in than there is room for
      const forget = keep({ of, isStillAdmitted, end: handler.close });
      try {
        return await handler.fetch(request, { parsedBody: message });
      } finally {
        if (!hasBegun) forget();
      }
    },

    async close(): Promise<void> {
      await Promise.all([...streams].map(({ end }) => end()));
    },
  };
}

function eventOf(change: Change): ServerEvent {
  return change.kind === "resource"
    ? { kind: "resource_updated", uri: change.uri }
    : { kind: `${change.kind}_list_changed` };
}

/** The resources that a `subscriptions/listen` asks for; the SDK refuses what is not as expected. */
function urisOf(params: unknown): readonly string[] {
  const uris = valueAt(params, ["notifications", "resourceSubscriptions"]);
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === "string") : [];
}

/**
 * Tells the one client of a connection of changes. Since 2026-07-28 the client asks for them with `subscriptions/listen`: the
 * SDK answers that, and what it asks for is noticed here. An older client is told of lists unasked, and asks for resources
 * one by one.
 */
export function createConnectionChanges(changes: Changes, principal: Principal) {
  const servers = new Set<Server>();
  /** By the request to listen, or by the address. */
  const wishes = new Map<unknown, readonly string[]>();
  let end = subscribe();

  function subscribe(): () => void {
    return changes.subscribe(tell, { principal, uris: [...wishes.values()].flat() });
  }
  function renew(): void {
    end();
    end = subscribe();
  }
  function tell(change: Change): void {
    // whoever has gone is told nothing
    for (const server of servers) notify(server, change).catch(() => {});
  }

  return {
    /** Tells this server's client from now on, until the connection closes. */
    attach(server: Server): void {
      servers.add(server);
      server.onclose = () => void servers.delete(server);
    },
    /** Notes a message of the client's that begins or ends to ask for resources. */
    notice(message: unknown): void {
      if (!isMap(message)) return;
      const { method, params } = message;
      if (method === "subscriptions/listen" && "id" in message) {
        wishes.set(message["id"], urisOf(params));
        renew();
      } else if (method === "notifications/cancelled" && wishes.delete(valueAt(params, ["requestId"]))) {
        renew();
      }
    },
    subscribe(uri: string): void {
      wishes.set(`resource ${uri}`, [uri]);
      renew();
    },
    unsubscribe(uri: string): void {
      if (wishes.delete(`resource ${uri}`)) renew();
    },
    close: (): void => end(),
  };
}

export type ConnectionChanges = ReturnType<typeof createConnectionChanges>;

function notify(server: Server, change: Change): Promise<void> {
  return change.kind === "resource"
    ? server.sendResourceUpdated({ uri: change.uri })
    : server[listChanged[change.kind]]();
}

const listChanged = {
  tools: "sendToolListChanged",
  prompts: "sendPromptListChanged",
  resources: "sendResourceListChanged",
} as const;
