import { formatListenAddress, isLoopback, type ListenAddress } from "../core/listen_address.ts";

export interface HostOptions {
  readonly address: ListenAddress;
  /** Hosts, with or without a port, that Host may name. */
  readonly allowedHosts: readonly string[];
  /** Whether Host is checked on every address, and where no hosts are given. */
  readonly always?: boolean;
}

export interface HostAndOriginOptions extends Omit<HostOptions, "always"> {
  readonly authenticated: boolean;
  /** Origins, such as `https://chat.example.com`, that may call from a browser besides the server's own. */
  readonly allowedOrigins: readonly string[];
}

/**
 * Says whether a request's Host will do. Against DNS rebinding (MCP, Transports, Security Warning): on loopback it must be
 * a loopback name, the listener's own address or in the list, elsewhere it is checked where the list is set.
 */
export function createHostCheck(options: HostOptions): (request: Request) => boolean {
  const { address, always = false } = options;
  const allowedHosts = new Set(options.allowedHosts.map((host) => host.toLowerCase()));
  const own = formatListenAddress(address).toLowerCase();
  if (!always && allowedHosts.size === 0 && !isLoopback(address.host)) return () => true;

  return (request) => {
    const host = hostOf(request);
    const hostname = hostnameOf(host);
    if (hostname === undefined) return false;
    return isLoopback(hostname) || host === own || hostname === address.host.toLowerCase() ||
      allowedHosts.has(host) || allowedHosts.has(hostname);
  };
}

/**
 * Says why a request is refused, undefined where it passes. Against DNS rebinding and calls from foreign web pages
 * (MCP, Transports, Security Warning): Host is checked as by `createHostCheck`, without authentication on every address;
 * an Origin must be the host that the request names or in the list, and a request without one passes.
 */
export function createHostAndOriginCheck(
  options: HostAndOriginOptions,
): (request: Request) => string | undefined {
  const hostIsAllowed = createHostCheck({ ...options, always: !options.authenticated });
  const allowedOrigins = new Set(
    options.allowedOrigins.map((origin) => origin.toLowerCase().replace(/\/$/, "")),
  );

  return (request) => {
    if (!hostIsAllowed(request)) return "the Host header names a host that is not allowed here";
    const origin = request.headers.get("origin")?.toLowerCase();
    if (origin === undefined || allowedOrigins.has(origin)) return undefined;
    const host = hostOf(request);
    if (host !== "" && hostOfOrigin(origin) === host) return undefined;
    return "the Origin header names an origin that is not allowed here";
  };
}

/** In lower case. */
function hostOf({ headers, url }: Request): string {
  // HTTP/2 has :authority in its place, which the runtime puts into the URL
  return (headers.get("host") ?? new URL(url).host).toLowerCase();
}

function hostnameOf(host: string): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/.exec(host);
  return match === null ? undefined : match[1] ?? match[2];
}

function hostOfOrigin(origin: string): string | undefined {
  return /^https?:\/\/([^/?#@]+)$/.exec(origin)?.[1];
}
