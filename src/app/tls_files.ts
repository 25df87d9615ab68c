import { createPublicKey, X509Certificate } from "node:crypto";
import { AppError } from "../core/app_error.ts";
import type { Logger } from "../core/logger.ts";
import { readRegularFile } from "../core/files/read_regular_file.ts";
import type { FileWatch, Look, WatchedFiles } from "../core/files/watch_files.ts";
import type { TlsPair } from "../http/listener.ts";

interface TlsFiles {
  readonly cert_file?: string | undefined;
  readonly key_file?: string | undefined;
  readonly chain_file?: string | undefined;
}

/**
 * Reads the certificate, its key, and the intermediate certificates that are sent after it.
 * @param section of the configuration, for errors: `http.tls`
 * @throws {AppError} `invalid` naming each setting whose file is missing or is not what it should be, or both where the
 * key is another certificate's
 */
export async function readTls(files: TlsFiles, section: string): Promise<TlsPair> {
  const [cert = "", key = "", chain = ""] = await readEach([
    readPem(files.cert_file, `${section}.cert_file`, "CERTIFICATE"),
    readPem(files.key_file, `${section}.key_file`, "PRIVATE KEY"),
    ...(files.chain_file === undefined
      ? []
      : [readPem(files.chain_file, `${section}.chain_file`, "CERTIFICATE")]),
  ]);
  const [own] = parseCertificates(cert, `${section}.cert_file ${files.cert_file}`);
  parseCertificates(chain, `${section}.chain_file ${files.chain_file}`);
  const expires = new Date(own?.validTo ?? 0);
  if (expires.getTime() < Date.now()) {
    throw new AppError(
      "invalid",
      `Cannot use ${section}.cert_file: the certificate expired on ${expires.toISOString()}`,
    );
  }
  if (own !== undefined && !belongTogether(own, key, `${section}.key_file ${files.key_file}`)) {
    throw new AppError(
      "invalid",
      `Cannot use ${section}.cert_file ${files.cert_file} with ${section}.key_file ${files.key_file}: ` +
        "the key belongs to another certificate",
    );
  }
  return { cert: `${cert.trimEnd()}\n${chain}`, key };
}

/**
 * Reads certificate authorities.
 * @throws {AppError} `invalid`, naming the setting
 */
export async function readAuthorities(path: string, setting: string): Promise<string> {
  const pem = await readPem(path, setting, "CERTIFICATE");
  parseCertificates(pem, `${setting} ${path}`);
  return pem;
}

interface TlsWatchOptions {
  readonly tls: TlsFiles;
  readonly section: string;
  readonly current: TlsPair;
  readonly replace: (tls: TlsPair) => Promise<void>;
  readonly files: FileWatch;
  /** Told whether what was read could be used, where it was new. */
  readonly onReload: (result: "ok" | "failed") => void;
  readonly logger: Logger;
}

/** Replaces the certificate when its files change. A pair that does not fit changes nothing. */
export async function watchTls(options: TlsWatchOptions): Promise<WatchedFiles> {
  const { tls, section, replace, files, onReload, logger } = options;
  const names = `${tls.cert_file} and ${tls.key_file}`;
  let current = options.current;
  let fault: string | undefined;

  async function reload({ asked, isCurrent }: Look): Promise<void> {
    try {
      const next = await readTls(tls, section);
      if (!await isCurrent()) return;
      const isNew = next.cert !== current.cert || next.key !== current.key;
      if (isNew) await replace(next);
      current = next;
      if (isNew || fault !== undefined) {
        logger.info(`Reloaded the certificate of ${names}`);
        onReload("ok");
      }
      fault = undefined;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason === fault && !asked) return;
      fault = reason;
      onReload("failed");
      logger.error(`Failed to reload the certificate of ${names}; the current one stays in force`, { error });
    }
  }

  const paths = [tls.cert_file, tls.key_file, tls.chain_file].filter((path) => path !== undefined);
  return await files.watch({ paths, onChange: reload });
}

/** All faults in one error, in the order of the settings. */
async function readEach(readings: readonly Promise<string>[]): Promise<string[]> {
  const settled = await Promise.allSettled(readings);
  const causes = settled.flatMap((one) => one.status === "rejected" ? [one.reason] : []);
  if (causes.length > 0) {
    throw new AppError("invalid", causes.map(({ message }) => message).join("; "), { cause: causes[0] });
  }
  return settled.flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
}

async function readPem(path: string | undefined, setting: string, label: string): Promise<string> {
  if (path === undefined) throw new AppError("invalid", `Cannot serve TLS: ${setting} is not set`);
  let text: string;
  try {
    text = await readRegularFile(path);
  } catch (error) {
    const reason = error instanceof Deno.errors.NotFound
      ? "there is no such file"
      : error instanceof AppError
      ? "it is not a regular file"
      : "it cannot be read";
    throw new AppError("invalid", `Cannot read ${setting} ${path}: ${reason}`, { cause: error });
  }
  if (!new RegExp(`-----BEGIN [A-Z ]*${label}-----`).test(text)) {
    throw new AppError("invalid", `Cannot use ${setting} ${path}: expected a PEM file with a ${label}`);
  }
  return text;
}

/** @throws {AppError} `invalid` for a certificate that is cut or damaged */
function parseCertificates(pem: string, what: string): X509Certificate[] {
  // one that is cut has no end
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*(?:-----END CERTIFICATE-----)?/g) ?? [];
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch (cause) {
    throw new AppError("invalid", `Cannot use ${what}: a certificate in it is cut off or damaged`, { cause });
  }
}

function belongTogether(certificate: X509Certificate, key: string, what: string): boolean {
  let ofKey: string;
  try {
    ofKey = createPublicKey(key).export({ type: "spki", format: "pem" }).toString();
  } catch (cause) {
    throw new AppError("invalid", `Cannot use ${what}: the key is cut off, damaged or encrypted`, { cause });
  }
  try {
    return certificate.publicKey.export({ type: "spki", format: "pem" }).toString() === ofKey;
  } catch {
    // a kind of key that the runtime cannot compare here; its TLS does
    return true;
  }
}
