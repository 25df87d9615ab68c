import { X509Certificate } from "node:crypto";
import { AppError } from "../core/app_error.ts";
import { readRegularFile } from "../core/read_regular_file.ts";

export interface TlsFiles {
  readonly cert_file?: string | undefined;
  readonly key_file?: string | undefined;
  readonly chain_file?: string | undefined;
}

/**
 * Reads the certificate, its key, and the intermediate certificates that are sent after it.
 * @param section of the configuration, for errors: `http.tls`
 * @throws {AppError} `invalid` naming the setting whose file is missing or is not what it should be
 */
export async function readTls(files: TlsFiles, section: string): Promise<{ cert: string; key: string }> {
  const [cert, key, chain] = await Promise.all([
    readPem(files.cert_file, `${section}.cert_file`, "CERTIFICATE"),
    readPem(files.key_file, `${section}.key_file`, "PRIVATE KEY"),
    files.chain_file === undefined ? "" : readPem(files.chain_file, `${section}.chain_file`, "CERTIFICATE"),
  ]);
  const expires = new Date(new X509Certificate(cert).validTo);
  if (expires.getTime() < Date.now()) {
    throw new AppError(
      "invalid",
      `Cannot use ${section}.cert_file: the certificate expired on ${expires.toISOString()}`,
    );
  }
  return { cert: `${cert.trimEnd()}\n${chain}`, key };
}

async function readPem(path: string | undefined, setting: string, label: string): Promise<string> {
  if (path === undefined) throw new AppError("invalid", `Cannot serve TLS: ${setting} is not set`);
  let text: string;
  try {
    text = await readRegularFile(path);
  } catch (error) {
    const reason = error instanceof Deno.errors.NotFound ? "there is no such file" : "it cannot be read";
    throw new AppError("invalid", `Cannot read ${setting} ${path}: ${reason}`, { cause: error });
  }
  if (!new RegExp(`-----BEGIN [A-Z ]*${label}-----`).test(text)) {
    throw new AppError("invalid", `Cannot use ${setting} ${path}: expected a PEM file with a ${label}`);
  }
  return text;
}
