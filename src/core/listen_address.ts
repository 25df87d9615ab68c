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
  if (port > 65_535 || (match[1] !== undefined && !isIpv6(match[1]))) return undefined;
  return { host: match[1] ?? match[2] ?? "", port };
}

/** An address as a URL writes it. */
export function formatListenAddress({ host, port }: ListenAddress): string {
  return `${host.includes(":") ? `[${host}]` : host || "0.0.0.0"}:${port}`;
}

/** Whether only this machine can reach a host: `localhost`, `127.0.0.0/8` and `::1`. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  return name === "localhost" || name.endsWith(".localhost") || /^127(\.\d{1,3}){3}$/.test(name) ||
    (isIpv6(name) && new URL(`http://[${name}]/`).hostname === "[::1]");
}

/** Whether two listeners would fight for one port: equal ports, and equal hosts or one of them every interface. */
export function addressesCollide(left: ListenAddress, right: ListenAddress): boolean {
  if (left.port !== right.port || left.port === 0) return false;
  const every = (host: string) => host === "" || host === "0.0.0.0" || host === "::";
  return every(left.host) || every(right.host) || left.host.toLowerCase() === right.host.toLowerCase();
}

function isIpv6(text: string): boolean {
  return text.includes(":") && URL.canParse(`http://[${text}]/`);
}
