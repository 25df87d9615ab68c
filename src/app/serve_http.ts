import { defined } from "../core/defined.ts";
import type { Config } from "../config/mod.ts";
import type { FileWatch } from "../core/files/watch_files.ts";
import type { Logger } from "../core/logger.ts";
import type { ServerMetrics } from "../core/metrics/server_metrics.ts";
import { startListener, stopGraceMs } from "../http/listener.ts";
import { createFront, type FrontChecks, type FrontOptions } from "../identity/front.ts";
import { readTls, watchTls } from "./tls_files.ts";

/** Disposing of it lets requests under way finish for 10 s. */
export interface HttpServer extends AsyncDisposable {
  readonly url: string;
}

type Settings = Config["http"] | Config["server"];

interface ServeOptions<Of extends Settings> extends Omit<FrontOptions, "checks"> {
  /** The configuration's section of the server, and its name. */
  readonly settings: Of;
  readonly section: "http" | "server";
  /** As startListener() takes it. */
  readonly sharesPort?: boolean;
  readonly checksOf: (settings: Of) => FrontChecks;
  /** Ends what still runs when a server that stops has waited long enough. */
  readonly endCalls: () => void;
  readonly files: FileWatch;
  readonly metrics: ServerMetrics;
  readonly logger: Logger;
}

/**
 * Serves one server's routes over HTTP or HTTPS, behind what every request goes through (`identity/front`).
 * @throws {AppError} `invalid` for TLS files that do not fit, `unavailable` where the address is taken
 */
export async function serveHttp<Of extends Settings>(options: ServeOptions<Of>) {
  const { settings: { address, tls: tlsSettings }, section, checksOf, files, metrics, logger } = options;
  let checks = checksOf(options.settings);
  const tlsSection = `${section}.tls`;
  const tls = tlsSettings.enabled ? await readTls(tlsSettings, tlsSection) : undefined;
  const listener = startListener({
    address,
    ...defined({ tls, sharesPort: options.sharesPort }),
    handle: createFront({ ...options, checks: () => checks }),
    logger,
  });
  const certificate = tls && await watchTls({
    tls: tlsSettings,
    section: tlsSection,
    current: tls,
    replace: listener.replaceCertificate,
    files,
    onReload: (result) => metrics.reloads.of("certificate", result).add(),
    logger,
  });
  return {
    url: listener.url,
    /** Takes in what may change while it runs: `src/config/reloaded_settings.ts`. */
    reload(next: Of): void {
      checks = checksOf({ ...next, address });
    },
    async [Symbol.asyncDispose](): Promise<void> {
      void certificate?.end();
      await listener.stop(stopGraceMs, options.endCalls);
    },
  };
}
