import assert from "node:assert/strict";
import { join } from "node:path";
import { silentLogger } from "../../../src/core/logger.ts";
import { connect } from "../../../src/postgres/connect/connect.ts";
import type { DatabaseOptions } from "../../../src/postgres/database_options.ts";
import { createCertificateAuthority } from "../../support/network/certificates.ts";
import { databaseOptions } from "../../support/database_options.ts";
import {
  type PostgresCluster,
  serveCertificate,
  startCluster,
  testWithCluster,
} from "../../support/postgres_cluster.ts";
import { waitUntil } from "../../support/wait_until.ts";
import { testWithPrograms } from "../../support/programs.ts";
import type { SslMode } from "../../../src/postgres/connect/connection_kinds.ts";

const forever = new AbortController().signal;
const modes: SslMode[] = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];
const trustAll = ["host all all 127.0.0.1/32 trust"];
// node:tls of older versions neither presents a client's certificate nor reads names out of the common name
const hasWholeTls = Number(Deno.version.deno.split(".")[1]) >= 9;

/** What came of a connect: whether the server saw TLS, or the error's message. */
type Result = "tls" | "plain" | { readonly message: string };

async function resultOf(cluster: PostgresCluster, changes: Partial<DatabaseOptions>): Promise<Result> {
  const url = `postgres://postgres@localhost:${cluster.port}/postgres`;
  const options = databaseOptions(url, { hosts: [{ host: "localhost", port: cluster.port }], ...changes });
  try {
    const connection = await connect(options, { signal: forever, logger: silentLogger });
    const { rows } = await connection.client.query<{ ssl: boolean }>(
      "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
    );
    await connection.close();
    return rows[0]?.ssl ? "tls" : "plain";
  } catch (error) {
    assert.ok(error instanceof Error);
    return { message: error.message };
  }
}

async function results(cluster: PostgresCluster, changes: Partial<DatabaseOptions>): Promise<string> {
  const found: string[] = [];
  for (const sslMode of modes) {
    const result = await resultOf(cluster, { ...changes, sslMode });
    found.push(typeof result === "string" ? result : "fails");
  }
  return found.join(" ");
}

testWithPrograms(["openssl"], "the six SSL modes do what libpq's do", async (t) => {
  await using cluster = await startCluster();
  const folder = await Deno.makeTempDir({ prefix: "postern_certificates_" });
  try {
    await cluster.setHostRules(trustAll);
    const root = await createCertificateAuthority(folder, "root");
    const stranger = await createCertificateAuthority(folder, "stranger");
    const trusting = { sslRootCertFile: root.certFile };
    const distrusting = { sslRootCertFile: stranger.certFile };

    await t.step("where the server has no TLS", async () => {
      assert.equal(await results(cluster, trusting), "plain plain plain fails fails fails");
      assert.deepEqual(await resultOf(cluster, { sslMode: "require" }), {
        message: 'Cannot reach database "shop": TLS failed: the server does not support it',
      });
    });

    const names = ["DNS:localhost", "IP:127.0.0.1"];
    await serveCertificate(cluster, await root.issue({ commonName: "good", subjectAltNames: names }), "good");

    await t.step("where the certificate is good", async () => {
      assert.equal(await results(cluster, trusting), "plain plain tls tls tls tls");
      const byAddress = { ...trusting, hosts: [{ host: "127.0.0.1", port: cluster.port }] };
      assert.equal(await results(cluster, byAddress), "plain plain tls tls tls tls");
    });

    await t.step("where no root certificate is given, which only the strict modes need", async () => {
      assert.equal(await results(cluster, {}), "plain plain tls tls fails fails");
      const missing = { sslRootCertFile: join(folder, "missing.crt") };
      assert.equal(await results(cluster, missing), "plain plain tls tls fails fails");
      assert.equal(
        await results(cluster, { sslRootCertFile: "system" }),
        "plain plain plain fails fails fails",
      );
    });

    await t.step("where another authority is trusted, which require checks too", async () => {
      assert.equal(await results(cluster, distrusting), "plain plain plain fails fails fails");
    });

    await t.step("over a Unix socket, where there is never TLS", async () => {
      const overSocket = { ...trusting, hosts: [{ host: cluster.socketFolder, port: cluster.port }] };
      assert.equal(await results(cluster, overSocket), "plain plain plain plain plain plain");
    });

    await t.step("where the server takes TLS only, and plain text only", async () => {
      await cluster.setHostRules(["hostssl all all 127.0.0.1/32 trust"]);
      assert.equal(await results(cluster, trusting), "fails tls tls tls tls tls");
      await cluster.setHostRules(["hostnossl all all 127.0.0.1/32 trust"]);
      assert.equal(await results(cluster, trusting), "plain plain plain fails fails fails");
      await cluster.setHostRules(trustAll);
    });

    await t.step("where the certificate names another host", async () => {
      const other = await root.issue({ commonName: "other", subjectAltNames: ["DNS:*.other.example"] });
      await serveCertificate(cluster, other, "other");
      assert.equal(await results(cluster, trusting), "plain plain tls tls tls fails");
      assert.equal(await results(cluster, distrusting), "plain plain plain fails fails fails");
    });

    await t.step("where the certificate has expired", async () => {
      const expired = await root.issue({ commonName: "expired", subjectAltNames: names, valid: false });
      await serveCertificate(cluster, expired, "expired");
      assert.equal(await results(cluster, trusting), "plain plain plain fails fails fails");
      assert.equal(await results(cluster, {}), "plain plain tls tls fails fails");
    });

    await t.step("where an authority between signed", async () => {
      const between = await root.issueAuthority("between");
      await serveCertificate(
        cluster,
        await between.issue({ commonName: "leaf", subjectAltNames: names }),
        "leaf",
      );
      assert.equal(await results(cluster, trusting), "plain plain tls tls tls tls");
    });

    await t.step("where only the common name names the host", async () => {
      await serveCertificate(cluster, await root.issue({ commonName: "localhost" }), "common_name");
      const expected = hasWholeTls ? "plain plain tls tls tls tls" : "plain plain plain fails fails fails";
      assert.equal(await results(cluster, trusting), expected);
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}, testWithCluster);

testWithPrograms(["openssl"], "passwords and client certificates", async (t) => {
  await using cluster = await startCluster();
  const folder = await Deno.makeTempDir({ prefix: "postern_certificates_" });
  try {
    const root = await createCertificateAuthority(folder, "root");
    await serveCertificate(
      cluster,
      await root.issue({ commonName: "s", subjectAltNames: ["DNS:localhost"] }),
      "s",
    );
    const served = join(cluster.folder, "root.crt");
    await Deno.copyFile(root.certFile, served);
    await cluster.giveToServer(served);
    await cluster.setParameter("ssl_ca_file", served);
    await cluster.query("CREATE ROLE scram LOGIN PASSWORD 'right'");
    await cluster.query("SET password_encryption = md5; CREATE ROLE md5 LOGIN PASSWORD 'right'");
    await cluster.query("CREATE ROLE holder LOGIN");
    await cluster.setHostRules([
      "hostssl all holder 127.0.0.1/32 cert",
      "host all scram 127.0.0.1/32 scram-sha-256",
      "host all md5 127.0.0.1/32 md5",
    ]);

    for (const user of ["scram", "md5"]) {
      await t.step(`${user}: right, wrong, missing, and from a password file`, async () => {
        for (const sslMode of ["disable", "prefer", "require"] as const) {
          const tls = sslMode === "disable" ? "plain" : "tls";
          assert.equal(await resultOf(cluster, { user, sslMode, password: "right" }), tls);
          assert.deepEqual(await resultOf(cluster, { user, sslMode, password: "wrong" }), {
            message: `Cannot log in to database "shop": the server refused the credentials of role "${user}"`,
          });
          assert.deepEqual(await resultOf(cluster, { user, sslMode }), {
            message:
              `Cannot log in to database "shop": the server asks for a password, and none is set for role "${user}": ` +
              "set password_file or PGPASSWORD, or write a line into ~/.pgpass",
          });
          const passFile = join(folder, "pgpass");
          await Deno.writeTextFile(passFile, `localhost:${cluster.port}:postgres:${user}:right\n`, {
            mode: 0o600,
          });
          assert.equal(await resultOf(cluster, { user, sslMode, passFile }), tls);
        }
      });
    }

    await t.step("a client certificate logs in, where Deno can present one", async () => {
      const { certFile, keyFile } = await root.issue({ commonName: "holder" });
      await Deno.chmod(keyFile, 0o600);
      const holder = { user: "holder", sslMode: "verify-full", sslRootCertFile: root.certFile } as const;
      const presented = { ...holder, sslCertFile: certFile, sslKeyFile: keyFile };
      assert.equal(typeof await resultOf(cluster, holder), "object", "not without it");
      assert.deepEqual(
        await resultOf(cluster, presented),
        hasWholeTls ? "tls" : {
          message:
            'Cannot reach database "shop": TLS failed: this version of Deno cannot present a client certificate',
        },
      );
      await Deno.chmod(keyFile, 0o644);
      assert.deepEqual(await resultOf(cluster, presented), {
        message:
          'Cannot reach database "shop": cannot use the client certificate\'s key: others can read the file too',
      });
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}, testWithCluster);

testWithPrograms(["openssl"], "cancel() and limitBytes() work on an encrypted connection", async () => {
  await using cluster = await startCluster();
  const folder = await Deno.makeTempDir({ prefix: "postern_certificates_" });
  try {
    const root = await createCertificateAuthority(folder, "root");
    await serveCertificate(
      cluster,
      await root.issue({ commonName: "s", subjectAltNames: ["DNS:localhost"] }),
      "s",
    );
    await cluster.setHostRules(["hostssl all all 127.0.0.1/32 trust"]);
    const options = databaseOptions(`postgres://postgres@localhost:${cluster.port}/postgres`, {
      sslMode: "verify-full",
      sslRootCertFile: root.certFile,
    });
    const connection = await connect(options, { signal: forever, logger: silentLogger });
    const cancelled = assert.rejects(connection.client.query("SELECT pg_sleep(60)"), { code: "57014" });
    await waitUntil("the statement runs", async () => {
      const rows = await cluster.query("SELECT 1 FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)'");
      return rows.length === 1;
    });
    await connection.cancel();
    await cancelled;
    connection.limitBytes(1024 * 1024);
    await assert.rejects(connection.client.query("SELECT repeat('x', 50000000)"), { code: "invalid" });
    await connection.close();
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}, testWithCluster);

testWithCluster("target_session_attrs tells a standby from a primary", async () => {
  await using primary = await startCluster();
  await using standby = await startCluster();
  await standby.becomeStandby();
  const hosts = [primary, standby].map(({ port }) => ({ host: "127.0.0.1", port }));
  const taken = async (targetSessionAttrs: DatabaseOptions["targetSessionAttrs"], from = hosts) => {
    const options = databaseOptions("postgres://postgres@127.0.0.1/postgres", {
      hosts: from,
      targetSessionAttrs,
    });
    const connection = await connect(options, { signal: forever, logger: silentLogger });
    const { rows } = await connection.client.query<{ standby: boolean }>(
      "SELECT pg_is_in_recovery() AS standby",
    );
    await connection.close();
    return rows[0]?.standby ? "standby" : "primary";
  };
  assert.equal(await taken("any"), "primary");
  assert.equal(await taken("any", hosts.toReversed()), "standby");
  assert.equal(await taken("read-write", hosts.toReversed()), "primary");
  assert.equal(await taken("primary", hosts.toReversed()), "primary");
  assert.equal(await taken("read-only"), "standby");
  assert.equal(await taken("standby"), "standby");
  assert.equal(await taken("prefer-standby"), "standby");
  assert.equal(await taken("prefer-standby", hosts.slice(0, 1)), "primary");
  await assert.rejects(taken("standby", hosts.slice(0, 1)), {
    message: 'Cannot reach database "shop": it is not a standby',
  });
});
