import { join } from "node:path";

/** A certificate and its key, as PEM files. */
export interface Certificate {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface CertificateOptions {
  /** The subject's common name; it names the files too, so it is unique among those of one authority. */
  readonly commonName: string;
  /** For example `["DNS:localhost", "IP:127.0.0.1"]`; the certificate has no such extension where it is empty. */
  readonly subjectAltNames?: readonly string[];
  /** `false` for one that expired yesterday. */
  readonly valid?: boolean;
}

/** A certificate authority that lives in a folder. */
export interface CertificateAuthority {
  readonly certFile: string;
  issue(options: CertificateOptions): Promise<Certificate>;
  /** An authority below this one; what it issues carries its own certificate behind the leaf's. */
  issueAuthority(commonName: string): Promise<CertificateAuthority>;
}

/** Makes a self-signed authority in an existing folder; needs the `openssl` command. */
export async function createCertificateAuthority(
  folder: string,
  commonName: string,
): Promise<CertificateAuthority> {
  const root = filesFor(folder, commonName);
  await openssl([
    ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30"],
    ...["-subj", `/CN=${commonName}`, "-addext", "basicConstraints=critical,CA:TRUE"],
    ...["-keyout", root.keyFile, "-out", root.certFile],
  ]);
  return authorityOf(folder, root, undefined);
}

function authorityOf(
  folder: string,
  own: Certificate,
  chainBelowRoot: string | undefined,
): CertificateAuthority {
  return {
    certFile: own.certFile,
    async issue(options) {
      const extensions = ["basicConstraints=critical,CA:FALSE"];
      const names = options.subjectAltNames ?? [];
      if (names.length > 0) extensions.push(`subjectAltName=${names.join(",")}`);
      const issued = await sign(folder, own, options.commonName, extensions, options.valid ?? true);
      if (chainBelowRoot !== undefined) {
        await Deno.writeTextFile(issued.certFile, await Deno.readTextFile(chainBelowRoot), { append: true });
      }
      return issued;
    },
    async issueAuthority(commonName) {
      const issued = await sign(folder, own, commonName, ["basicConstraints=critical,CA:TRUE"], true);
      return authorityOf(folder, issued, issued.certFile);
    },
  };
}

async function sign(
  folder: string,
  authority: Certificate,
  commonName: string,
  extensions: readonly string[],
  valid: boolean,
): Promise<Certificate> {
  const issued = filesFor(folder, commonName);
  const request = join(folder, `${commonName}.csr`);
  const extensionFile = join(folder, `${commonName}.ext`);
  await Deno.writeTextFile(extensionFile, extensions.join("\n"));
  await openssl([
    ...["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
    ...["-subj", `/CN=${commonName}`, "-keyout", issued.keyFile, "-out", request],
  ]);
  await openssl([
    ...["x509", "-req", "-in", request, "-CA", authority.certFile, "-CAkey", authority.keyFile],
    // a file of serial numbers would be written by two at once
    ...["-set_serial", `0x${crypto.randomUUID().replaceAll("-", "").slice(1)}`],
    ...["-days", valid ? "30" : "-1", "-extfile", extensionFile, "-out", issued.certFile],
  ]);
  return issued;
}

function filesFor(folder: string, commonName: string): Certificate {
  return { certFile: join(folder, `${commonName}.crt`), keyFile: join(folder, `${commonName}.key`) };
}

async function openssl(args: readonly string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command("openssl", { args: [...args], stdin: "null" }).output();
  if (!success) throw new Error(`openssl ${args[0]} failed: ${new TextDecoder().decode(stderr)}`);
}
