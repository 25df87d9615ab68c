import type { Server } from "@modelcontextprotocol/server";
import type { Principal } from "../../core/principal.ts";
import type { Change, Changes } from "../changes.ts";
import { urisOf } from "./change_streams.ts";

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
      if (typeof message !== "object" || message === null || !("method" in message)) return;
      const params = "params" in message ? message.params : undefined;
      if (message.method === "subscriptions/listen" && "id" in message) {
        wishes.set(message.id, urisOf(params));
        renew();
      } else if (message.method === "notifications/cancelled") {
        const id = typeof params === "object" && params !== null && "requestId" in params && params.requestId;
        if (wishes.delete(id)) renew();
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
