import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls";
import { untilAborted } from "../../core/async/abort.ts";
import { canonicalIpAddress } from "../../core/address.ts";
import type { TlsSettings } from "./tls_settings.ts";

/** A failure of the TLS layer, as opposed to one of the network or of the login. */
export class TlsError extends Error {
  override readonly name = "TlsError";
}

export interface TlsTarget {
  /** The name or address that the certificate is checked against. */
  readonly host: string;
  readonly settings: TlsSettings;
  /** Called when the server has agreed, before the handshake. */
  readonly onOffered: () => void;
}

const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);

/**
 * Asks a server for TLS and makes the socket's connection a TLS one where it agrees (PostgreSQL manual, "SSL Session
 * Encryption"); undefined where it has none. The socket is destroyed on a failure.
 *
 * @throws {TlsError} where the handshake fails or the certificate is not one to trust. In Deno before 2.9 the same
 * failure may arrive as the first `error` event of the stream instead.
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
    ...(rootCertificates !== undefined && { ca: rootCertificates }),
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
