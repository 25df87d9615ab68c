import {
  canonicalIpv6Address,
  formatListenAddress,
  isLoopback,
  type ListenAddress,
} from "../core/address.ts";

interface HostOptions {
  readonly address: ListenAddress;
  /** Hosts, with or without a port, that Host may name. */
  readonly allowedHosts: readonly string[];
  /** Whether Host is checked on every address, and where no hosts are given. */
  readonly always?: boolean;
}

interface HostAndOriginOptions extends Omit<HostOptions, "always"> {
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
  const allowedHosts = new Set(options.allowedHosts.flatMap(namesOf));
  const own = new Set([...namesOf(formatListenAddress(address)), ...namesOf(address.host)]);
  if (!always && allowedHosts.size === 0 && !isLoopback(address.host)) return () => true;

  function isAllowed(host: string): boolean {
    const names = readHost(host);
    if (names === undefined) return false;
    const { hostname, withPorts } = names;
    return isLoopback(hostname) ||
      [hostname, ...withPorts].some((name) => own.has(name) || allowedHosts.has(name));
  }

  // almost all requests name the same host
  let latestAllowed: string | undefined;
  return (request) => {
    const host = hostOf(request);
    if (host === latestAllowed) return true;
    if (!isAllowed(host)) return false;
    latestAllowed = host;
    return true;
  };
}

/** What an entry allows: a host with its port where it names one, else the host on any. */
function namesOf(entry: string): string[] {
  const written = entry.toLowerCase();
  const names = readHost(written) ?? readHost(`[${written}]`);
  if (names === undefined) return [];
  return names.hasPort ? names.withPorts : [names.hostname];
}

/**
 * Says which header a request is refused for, undefined where it passes. Against DNS rebinding and calls from foreign web pages
 * (MCP, Transports, Security Warning): Host is checked as by `createHostCheck`, without authentication on every address;
 * an Origin must be the host that the request names or in the list, and a request without one passes.
 */
export function createHostAndOriginCheck(
  options: HostAndOriginOptions,
): (request: Request) => "host" | "origin" | undefined {
  const hostIsAllowed = createHostCheck({ ...options, always: !options.authenticated });
  const allowedOrigins = new Set(
    options.allowedOrigins.map((origin) => origin.toLowerCase().replace(/\/$/, "")),
  );

  return (request) => {
    if (!hostIsAllowed(request)) return "host";
    const origin = request.headers.get("origin")?.toLowerCase();
    if (origin === undefined || allowedOrigins.has(origin)) return undefined;
    return isOwnOrigin(request, origin) ? undefined : "origin";
  };
}

function isOwnOrigin(request: Request, origin: string): boolean {
  const host = hostOf(request);
  return host !== "" && hostOfOrigin(origin) === host;
}

/** Whether a browser says that a page of this server sent a request: in `Sec-Fetch-Site`, else in `Origin`. */
export function isFromOwnPage(request: Request): boolean {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin";
  return isOwnOrigin(request, request.headers.get("origin")?.toLowerCase() ?? "");
}

/** Whether a request names this machine as its host. */
export function namesLoopback(request: Request): boolean {
  const names = readHost(hostOf(request));
  return names !== undefined && isLoopback(names.hostname);
}

/** In lower case. */
export function hostOf({ headers, url }: Request): string {
  // HTTP/2 has :authority in its place, which the runtime puts into the URL
  return (headers.get("host") ?? new URL(url).host).toLowerCase();
}

/**
 * A host's name without brackets, in the one form that names and addresses have, and the same with its port, or with those
 * that may be left out.
 */
function readHost(host: string) {
  const [, address, name, port] = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+?)\.?)(?::(\d{1,5}))?$/.exec(host) ??
    [];
  const hostname = address === undefined ? name : canonicalIpv6Address(address);
  if (hostname === undefined) return undefined;
  const written = hostname.includes(":") ? `[${hostname}]` : hostname;
  const ports = port === undefined ? ["80", "443"] : [port];
  return { hostname, hasPort: port !== undefined, withPorts: ports.map((each) => `${written}:${each}`) };
}

function hostOfOrigin(origin: string): string | undefined {
  return /^https?:\/\/([^/?#@]+)$/.exec(origin)?.[1];
}
