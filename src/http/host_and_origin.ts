import { formatListenAddress, isLoopback, type ListenAddress } from "../core/listen_address.ts";

export interface HostAndOriginOptions {
  readonly address: ListenAddress;
  readonly authenticated: boolean;
  /** Hosts, with or without a port, that Host may name. */
  readonly allowedHosts: readonly string[];
  /** Origins, such as `https://chat.example.com`, that may call from a browser besides the server's own. */
  readonly allowedOrigins: readonly string[];
}

/**
 * Says why a request is refused, undefined where it passes. Against DNS rebinding and calls from foreign web pages
 * (MCP, Transports, Security Warning): on loopback or without authentication Host must be a loopback name, the
 * listener's own address or in the list, elsewhere it is checked where the list is set; an Origin must be the host
 * that the request names or in the list, and a request without one passes.
 */
export function createHostAndOriginCheck(
  options: HostAndOriginOptions,
): (request: Request) => string | undefined {
  const { address, authenticated } = options;
  const allowedHosts = new Set(options.allowedHosts.map((host) => host.toLowerCase()));
  const allowedOrigins = new Set(
    options.allowedOrigins.map((origin) => origin.toLowerCase().replace(/\/$/, "")),
  );
  const hostIsChecked = allowedHosts.size > 0 || !authenticated || isLoopback(address.host);
  const own = formatListenAddress(address).toLowerCase();

  function hostIsAllowed(host: string): boolean {
    const hostname = hostnameOf(host);
    if (hostname === undefined) return false;
    return isLoopback(hostname) || host === own || hostname === address.host.toLowerCase() ||
      allowedHosts.has(host) || allowedHosts.has(hostname);
  }

  return ({ headers, url }) => {
    // HTTP/2 has :authority in its place, which the runtime puts into the URL
    const host = (headers.get("host") ?? new URL(url).host).toLowerCase();
    if (hostIsChecked && !hostIsAllowed(host)) return "the Host header names a host that is not allowed here";
    const origin = headers.get("origin")?.toLowerCase();
    if (origin === undefined) return undefined;
    if (allowedOrigins.has(origin) || (host !== "" && hostOfOrigin(origin) === host)) return undefined;
    return "the Origin header names an origin that is not allowed here";
  };
}

function hostnameOf(host: string): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/.exec(host);
  return match === null ? undefined : match[1] ?? match[2];
}

function hostOfOrigin(origin: string): string | undefined {
  return /^https?:\/\/([^/?#@]+)$/.exec(origin)?.[1];
}
