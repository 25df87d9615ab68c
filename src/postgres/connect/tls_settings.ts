import { AppError } from "../../core/app_error.ts";
import { isOpenToOthers } from "../../core/files/file_access.ts";
import { readRegularFile } from "../../core/files/read_regular_file.ts";
import type { Logger } from "../../core/logger.ts";
import type { DatabaseOptions } from "../database_options.ts";
import { type Verification, verificationFor } from "./ssl_mode.ts";

/** What a TLS handshake with a database needs, all of it read. */
export interface TlsSettings {
  readonly verification: Verification;
  /** PEM; the system's store where it is absent. */
  readonly rootCertificates?: string;
  readonly clientCertificate?: { readonly cert: string; readonly key: string };
}

type TlsOptions = Pick<
  DatabaseOptions,
  "name" | "sslMode" | "sslRootCertFile" | "sslCertFile" | "sslKeyFile"
>;

/**
 * Reads the certificate files that the options name, anew for each connection, so that renewed ones are used.
 *
 * @throws {AppError} `unavailable` where a file is missing that the mode cannot do without or is not a regular one, or the key is
 * not private
 */
export async function loadTlsSettings(options: TlsOptions, logger: Logger): Promise<TlsSettings> {
  const { sslMode, sslRootCertFile: rootFile } = options;
  const isStrict = sslMode === "verify-ca" || sslMode === "verify-full";
  const isFile = rootFile !== undefined && rootFile !== "system";
  const rootCertificates = isFile ? await readRootFile(options.name, rootFile, isStrict, logger) : undefined;
  const hasRoot = rootFile === "system" || rootCertificates !== undefined;
  const clientCertificate = await readClientCertificate(options);
  return {
    verification: verificationFor(sslMode, hasRoot),
    ...(rootCertificates !== undefined && { rootCertificates }),
    ...(clientCertificate !== undefined && { clientCertificate }),
  };
}

async function readRootFile(
  name: string,
  path: string,
  isStrict: boolean,
  logger: Logger,
): Promise<string | undefined> {
  try {
    return await readRegularFile(path);
  } catch (error) {
    if (isStrict || !(error instanceof Deno.errors.NotFound)) {
      throw unreadable(name, "the root certificate file", error);
    }
    logger.warn("the root certificate file does not exist; the server's certificate is not checked", {
      database: name,
      path,
    });
    return undefined;
  }
}

async function readClientCertificate(options: TlsOptions): Promise<TlsSettings["clientCertificate"]> {
  const { name, sslCertFile, sslKeyFile } = options;
  if (sslCertFile === undefined) return undefined;
  if (sslKeyFile === undefined) {
    throw unreadable(name, "the client certificate: it has no key file", undefined);
  }
  try {
    const cert = await readRegularFile(sslCertFile);
    const key = await readRegularFile(sslKeyFile);
    const info = await Deno.stat(sslKeyFile);
    if (!isOpenToOthers(info, { rootMayShareWithGroup: true })) return { cert, key };
  } catch (error) {
    throw unreadable(name, "the client certificate or its key", error);
  }
  throw unreadable(name, "the client certificate's key: others can read the file too", undefined);
}

function unreadable(name: string, what: string, cause: unknown): AppError {
  const why = cause instanceof AppError ? ": it is not a regular file" : "";
  return new AppError("unavailable", `Cannot reach database "${name}": cannot use ${what}${why}`, { cause });
}
