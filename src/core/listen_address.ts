import { AppError } from "./app_error.ts";

export interface ListenAddress {
  /** `0.0.0.0` where the text names no host. */
  readonly hostname: string;
  /** 0 lets the system choose. */
  readonly port: number;
}

/**
 * Reads `:8080`, `127.0.0.1:8080`, `localhost:8080` or `[::1]:8080`.
 * @throws {AppError} `invalid`
 */
export function parseListenAddress(text: string): ListenAddress {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) {
    throw new AppError(
      "invalid",
      `Cannot listen on ${JSON.stringify(text)}: expected HOST:PORT, such as :8080 or [::1]:8080`,
    );
  }
  return { hostname: match[1] ?? (match[2] || "0.0.0.0"), port };
}

/** An address as a URL writes it. */
export function formatAddress({ hostname, port }: ListenAddress): string {
  return `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}

/** Whether only this machine can reach a host: `localhost`, `127.0.0.0/8` and `::1`. */
export function isLoopback(hostname: string): boolean {
  const name = hostname.toLowerCase().replace(/^\[|\]$/g, "").replace(/^::ffff:/, "");
  return name === "localhost" || name.endsWith(".localhost") || name === "::1" ||
    /^127(\.\d{1,3}){3}$/.test(name);
}
