import { defined } from "../../core/defined.ts";
import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls";
import { canonicalIpAddress } from "../../core/address.ts";
import { AppError } from "../../core/app_error.ts";
import { untilAborted } from "../../core/async/abort.ts";
import { isOpenToOthers } from "../../core/files/file_access.ts";
import { readRegularFile } from "../../core/files/read_regular_file.ts";
import type { Logger } from "../../core/logger.ts";
import type { DatabaseOptions } from "../database_options.ts";
import { type Verification, verificationFor } from "./connection_kinds.ts";

/** An error of the TLS layer, as opposed to one of the network or of the login. */
export class TlsError extends Error {
  override readonly name = "TlsError";
}

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
 * @throws {AppError} `unavailable` where a file is missing that the mode cannot do without, where one is not a regular
 * file, or where others can read the key
 */
export async function loadTlsSettings(options: TlsOptions, logger: Logger): Promise<TlsSettings> {
  const { sslMode, sslRootCertFile: rootFile } = options;
  const rootCertificates = await readRootFile(options, logger);
  const hasRoot = rootFile === "system" || rootCertificates !== undefined;
  const clientCertificate = await readClientCertificate(options);
  return {
    verification: verificationFor(sslMode, hasRoot),
    ...defined({ rootCertificates, clientCertificate }),
  };
}

async function readRootFile(options: TlsOptions, logger: Logger): Promise<string | undefined> {
  const { name, sslMode, sslRootCertFile: path } = options;
  if (path === undefined || path === "system") return undefined;
  try {
    return await readRegularFile(path);
  } catch (error) {
    const isStrict = sslMode === "verify-ca" || sslMode === "verify-full";
    if (isStrict || !(error instanceof Deno.errors.NotFound)) {
      throw unusable(name, "the root certificate file", error);
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
    throw unusable(name, "the client certificate: it has no key file", undefined);
  }
  try {
    const cert = await readRegularFile(sslCertFile);
    const key = await readRegularFile(sslKeyFile);
    const info = await Deno.stat(sslKeyFile);
    if (!isOpenToOthers(info, { rootMayShareWithGroup: true })) return { cert, key };
  } catch (error) {
    throw unusable(name, "the client certificate or its key", error);
  }
  throw unusable(name, "the client certificate's key: others can read the file too", undefined);
}

function unusable(name: string, what: string, cause: unknown): AppError {
  const why = cause instanceof AppError ? ": it is not a regular file" : "";
  return new AppError("unavailable", `Cannot reach database "${name}": cannot use ${what}${why}`, { cause });
}

interface TlsTarget {
  /** The name or address that the certificate is checked against. */
  readonly host: string;
  readonly settings: TlsSettings;
  /** Called when the server has agreed, before the handshake. */
  readonly onOffered: () => void;
}

const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);

/**
 * Asks a server for TLS and makes the socket's connection a TLS one where it agrees (PostgreSQL manual, "SSL Session
 * Encryption"); undefined where it has none. The socket is destroyed where this throws.
 *
 * @throws {TlsError} where the handshake fails or the certificate is not one to trust. In Deno before 2.9 the same
 * error may arrive as the first `error` event of the stream instead.
 */
export async function startTls(
  socket: Socket,
  target: TlsTarget,
  signal: AbortSignal,
): Promise<TLSSocket | undefined> {
  try {
    return await untilAborted(requestTls(socket, target, signal), signal);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function requestTls(socket: Socket, target: TlsTarget, signal: AbortSignal): Promise<TLSSocket | undefined> {
  return new Promise((resolve, reject) => {
    const closed = () => reject(new Error("it closed the connection"));
    socket.once("error", reject);
    socket.once("close", closed);
    socket.once("data", (answer: Buffer) => {
      socket.off("error", reject);
      socket.off("close", closed);
      // more than one byte would be plain text that someone smuggled in before the handshake
      if (answer.length !== 1) {
        return reject(new TlsError("its answer to the request for TLS is not one byte"));
      }
      if (answer[0] === "N".charCodeAt(0)) return resolve(undefined);
      if (answer[0] !== "S".charCodeAt(0)) {
        return reject(new TlsError("it failed to answer the request for TLS"));
      }
      target.onOffered();
      // at once: in Deno before 2.9 the socket would read the handshake's bytes away
      resolve(secureSocket(socket, target, signal));
    });
    socket.write(sslRequest);
  });
}

async function secureSocket(socket: Socket, target: TlsTarget, signal: AbortSignal): Promise<TLSSocket> {
  const secure = connect({ socket, ...tlsOptions(target) });
  secure.on("error", () => {});
  try {
    // nothing may come between connect() and this, or the handshake is over before anybody listens
    await untilAborted(handshake(secure), signal);
    if (target.settings.clientCertificate !== undefined) requireClientCertificates(secure);
    return secure;
  } catch (error) {
    secure.destroy();
    throw error;
  }
}

function handshake(secure: TLSSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: Error) => reject(new TlsError(error.message, { cause: error }));
    const closed = () => failed(new Error("it closed the connection during the handshake"));
    secure.once("error", failed);
    secure.once("close", closed);
    secure.once("secureConnect", () => {
      secure.off("error", failed);
      secure.off("close", closed);
      resolve();
    });
  });
}

function tlsOptions({ host, settings }: TlsTarget): ConnectionOptions {
  const { verification, rootCertificates, clientCertificate } = settings;
  return {
    host,
    // RFC 6066 section 3: no addresses in the server name
    ...(canonicalIpAddress(host) === undefined && { servername: host }),
    rejectUnauthorized: verification !== "nothing",
    ...(verification !== "chain and name" && { checkServerIdentity: () => undefined }),
    ...defined({ ca: rootCertificates }),
    ...clientCertificate,
  };
}

// node:tls of Deno before 2.9 drops the client's certificate, and is known by having no certificate of the server's
function requireClientCertificates(secure: TLSSocket): void {
  if (secure.getPeerCertificate().raw === undefined) {
    throw new TlsError("this version of Deno cannot present a client certificate");
  }
}

/**
 * A name for which the server's certificate would have been accepted, from the refusal of one that names another
 * host. For `chain` on Deno before 2.9, whose node:tls always checks the name, after the chain: asking again for this
 * name accepts exactly the certificates whose chain holds.
 */
export function nameInRefusal(error: unknown): string | undefined {
  const message = error instanceof Error ? error.message : "";
  return /certificate is only valid for .*?DnsName\("([^"]+)"\)/.exec(message)?.[1]?.replace(/^\*\./, "any.");
}
