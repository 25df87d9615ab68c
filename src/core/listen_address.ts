import { canonicalIpAddress, canonicalIpv6Address, isLoopbackAddress } from "./ip_address.ts";

/** A place to listen on; the host is empty where every interface is meant. */
export interface ListenAddress {
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
}

/** Reads `:8080`, `127.0.0.1:8080`, `localhost:8080` or `[::1]:8080`; undefined for anything else. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]*)):(\d{1,5})$/.exec(text);
  if (match === null) return undefined;
  const port = Number(match[3]);
  if (port > 65_535 || (match[1] !== undefined && canonicalIpv6Address(match[1]) === undefined)) {
    return undefined;
  }
  return { host: match[1] ?? match[2] ?? "", port };
}

/** An address as a URL writes it. */
export function formatListenAddress({ host, port }: ListenAddress): string {
  return `${host.includes(":") ? `[${host}]` : host || "0.0.0.0"}:${port}`;
}

/** Whether only this machine can reach a host: `localhost`, `127.0.0.0/8` and `::1`. */
export function isLoopback(host: string): boolean {
  const address = canonicalIpAddress(host);
  return address === undefined ? /^(.*\.)?localhost$/i.test(host) : isLoopbackAddress(address);
}

/** Whether two listeners would fight for one port: equal ports, and equal hosts or one of them every interface. */
export function addressesCollide(left: ListenAddress, right: ListenAddress): boolean {
  if (left.port !== right.port || left.port === 0) return false;
  const hosts = [left.host, right.host].map((host) => canonicalIpAddress(host) ?? host.toLowerCase());
  return hosts[0] === hosts[1] || hosts.some((host) => host === "" || host === "0.0.0.0" || host === "::");
}
