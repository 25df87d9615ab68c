import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { createCertificateAuthority } from "../../support/network/certificates.ts";
import { serveCertificate, startCluster, testWithCluster } from "../../support/postgres_cluster.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";
import { testWithPrograms } from "../../support/programs.ts";
import { encryptionCheck } from "../../../src/app/checks/connection_checks.ts";
import { expiryResults } from "../../../src/app/checks/file_checks.ts";

const dayMs = 86_400_000;
const remedy = "-- Renew it, and have the file replaced: Postern reads it again";

Deno.test("a certificate's end is told: as an error after it, as a warning in its last 30 days", () => {
  const end = Date.UTC(2026, 5, 1, 12);
  const at = (beforeEndMs: number) => expiryResults("It", end, end - beforeEndMs);
  assert.deepEqual(at(-1), [{ ok: false, severity: "error", message: "It expired on 2026-06-01", remedy }]);
  for (const beforeEndMs of [0, 30 * dayMs - 1]) {
    assert.deepEqual(at(beforeEndMs), [
      { ok: false, severity: "warning", message: "It expires on 2026-06-01", remedy },
    ]);
  }
  assert.deepEqual(at(30 * dayMs), [{ ok: true, note: "It is valid until 2026-06-01" }]);
});

// before 2.9 node:tls does not tell of the server's certificate
const tells = Number(Deno.version.deno.split(".")[1]) >= 9;

testWithPrograms(
  ["openssl"],
  "the doctor says until when a database server's certificate is valid",
  async () => {
    await using cluster = await startCluster();
    await using folder = await temporaryFolder();
    const authority = await createCertificateAuthority(folder.path, "root");
    await cluster.setHostRules(["host all all 127.0.0.1/32 trust"]);
    const options = databaseOptions(`postgres://postgres@localhost:${cluster.port}/postgres`, {
      sslMode: "verify-full",
      sslRootCertFile: authority.certFile,
      hosts: [{ host: "localhost", port: cluster.port }],
    });
    const certificate = await authority.issue({
      commonName: "localhost",
      subjectAltNames: ["DNS:localhost"],
    });
    await serveCertificate(cluster, certificate, "served");
    const { signal } = new AbortController();
    const textAt = async (aheadMs: number) =>
      JSON.stringify(
        await encryptionCheck(options, silentLogger, () => Date.now() + aheadMs).run(signal),
      );
    // it is valid for 30 days
    const [today, later] = [await textAt(dayMs), await textAt(60 * dayMs)];
    for (const text of [today, later]) assert.match(text, /TLSv1\.\d, sslmode verify-full/);
    assert.equal(/"warning".*The server's certificate expires on \d{4}-\d\d-\d\d/.test(today), tells);
    assert.equal(/"error".*The server's certificate expired on \d{4}-\d\d-\d\d/.test(later), tells);
  },
  testWithCluster,
);
