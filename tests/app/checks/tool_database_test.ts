import assert from "node:assert/strict";
import { join } from "node:path";
import { silentLogger } from "../../../src/core/logger.ts";
import type { DatabaseOptions } from "../../../src/postgres/database_options.ts";
import { serverFileCheck } from "../../../src/app/checks/file_checks.ts";
import { readTls } from "../../../src/app/tls_files.ts";
import { createSearchFixture } from "../../rag_server/search_fixture.ts";
import { testWithPgvector } from "../../support/database.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { createLimitedRole } from "../../support/limited_role.ts";
import { createCertificateAuthority } from "../../support/network/certificates.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";
import { assertFault, assertFine } from "./fixture.ts";
import { testWithPrograms } from "../../support/programs.ts";
import { doctor } from "../../../src/app/checks/all_checks.ts";

const { signal } = new AbortController();

/** What the doctor says of a database of the tool server. */
async function look(
  setUp: string,
  changes: Partial<DatabaseOptions> = {},
  now?: () => number,
) {
  await using fixture = await createSearchFixture(setUp, changes);
  const { database, options } = fixture;
  const [diagnosis] = await doctor({
    pipelines: [],
    databases: [{ database, options }],
    signal,
    logger: silentLogger,
    ...(now === undefined ? {} : { now }),
  });
  return (check: string) => diagnosis?.results.filter((result) => result.check === check) ?? [];
}

testWithPgvector("the doctor finds tables that were never analysed", async () => {
  const ofOne = await look(
    "CREATE TABLE things AS SELECT generate_series(1, 100) n; CREATE TABLE bare (a int)",
  );
  assert.equal(
    assertFault(
      ofOne("statistics"),
      "warning",
      /^PostgreSQL has never looked at the rows of public\.things: /,
    ),
    "ANALYZE public.things;",
  );
  assertFine((await look("CREATE TABLE things AS SELECT 1 AS n; ANALYZE things"))("statistics"));
});

testWithPgvector("the doctor names a right beyond reading that is none of writing", async () => {
  await using fixture = await createSearchFixture("");
  await using role = await createLimitedRole(fixture.admin, 10);
  const { user, database } = databaseOptions(role.url);
  const ofRole = async () => (await look("", { user, database }))("role");
  assert.match(
    assertFault(
      await ofRole(),
      "warning",
      `Role "${user}" may create temporary tables in the database ${database}`,
    ),
    /^-- server -check-role lists each right/,
  );
  await fixture.admin.query(
    `CREATE FUNCTION own() RETURNS int LANGUAGE sql SECURITY DEFINER RETURN 1; GRANT CREATE ON SCHEMA public TO ${user}`,
  );
  assertFault(await ofRole(), "warning", /; rights beyond reading besides: 2$/);
  await fixture.admin.query(
    `DROP FUNCTION own; REVOKE CREATE ON SCHEMA public FROM ${user}; REVOKE TEMPORARY ON DATABASE ${database} FROM PUBLIC`,
  );
  assert.deepEqual((await ofRole()).map(({ ok }) => ok), [true]);
});

testWithPgvector("the doctor finds a clock that differs, and what it costs to read the catalog", async () => {
  const here = await look("");
  assertFine(here("clocks"));
  assert.match(JSON.stringify(here("catalog")), /0 tables, read in \d+ ms/);
  assert.match(JSON.stringify(here("extensions")), /vector 0\./);
  const hour = 3_600_000;
  const ahead = await look("", {}, () => Date.now() + hour);
  assertFault(
    ahead("clocks"),
    "warning",
    /^This machine's clock is 3[56]\d\d\.\d s ahead of the database server's/,
  );
});

testWithPgvector("the doctor finds what PostgreSQL refuses of callers' settings", async () => {
  const name = "callers' settings";
  const sessionSettings = { "app.tenant": "{claim:tenant}", server_version: "1" };
  const found =
    (await look("", { roleFromClaim: "role", allowedRoles: ["pg_monitor", "no_role"], sessionSettings }))(
      name,
    );
  assertFault(found.slice(0, 1), "error", /^allowed_roles\[1\]: PostgreSQL has no role "no_role"$/);
  assertFault(found.slice(1), "error", /^session_settings\.server_version: PostgreSQL refuses the setting: /);
  assertFine((await look("", { sessionSettings: { "app.tenant": "{claim:tenant}" } }))(name));
  assert.deepEqual((await look(""))(name), []);
});

testWithPgvector("the doctor names tables that show each caller all rows", async () => {
  await using fixture = await createSearchFixture(
    "CREATE TABLE own (id int); ALTER TABLE own ENABLE ROW LEVEL SECURITY; CREATE TABLE shared (id int); " +
      "CREATE TABLE unread (id int); CREATE TABLE halves (id int) PARTITION BY LIST (id); " +
      "CREATE TABLE half PARTITION OF halves DEFAULT",
  );
  await using role = await createLimitedRole(fixture.admin, 10);
  await fixture.admin.query(`REVOKE SELECT ON unread FROM ${role.name}`);
  const { user, database } = databaseOptions(role.url);
  const found = await look("", { user, database, sessionSettings: { "app.tenant": "{claim:tenant}" } });
  const [result] = found("row-level security");
  assert.deepEqual([result?.ok, result?.ok && result.note], [
    true,
    "each caller who may read public.halves, public.shared sees all rows: row-level security is not enabled there",
  ]);
  assert.deepEqual((await look("", { user, database }))("row-level security"), []);
});

testWithPgvector("the doctor finds a role with fewer connections than a caller may have", async () => {
  await using fixture = await createSearchFixture("");
  await using role = await createLimitedRole(fixture.admin, 3);
  const { user, database } = databaseOptions(role.url);
  const remedy = assertFault(
    (await look("", { user, database, poolMaxConns: 5 }))("connections"),
    "warning",
    /may have 3 connections, fewer than pool_max_conns \(5\) for each caller/,
  );
  assert.match(remedy, /^ALTER ROLE .* CONNECTION LIMIT 5;\n-- Or lower pool_max_conns, which is 5$/);
});

testWithPrograms(["openssl"], "the doctor looks at the servers' own files", async () => {
  await using folder = await temporaryFolder();
  const authority = await createCertificateAuthority(folder.path, "authority");
  const { certFile, keyFile } = await authority.issue({
    commonName: "localhost",
    subjectAltNames: ["DNS:localhost"],
  });
  const files = { enabled: true, cert_file: certFile, key_file: keyFile };
  const certificate = {
    what: "certificate of http.tls",
    path: certFile,
    read: () => readTls(files, "http.tls"),
    isCertificate: true,
  };
  const open = join(folder.path, "tokens.yaml");
  await Deno.writeTextFile(open, "tokens: {}\n", { mode: 0o644 });
  const lookAt = async (now: number) => {
    const [diagnosis] = await doctor({
      pipelines: [],
      databases: [],
      server: {
        completions: [],
        keyFiles: [join(folder.path, "absent.key")],
        configuration: [certificate, { what: "token file", path: open, read: () => Promise.resolve() }]
          .map((file) => serverFileCheck(file, () => now)),
      },
      signal,
      logger: silentLogger,
    });
    assert.equal(diagnosis?.kind, "server");
    return diagnosis.results;
  };
  const [ofCertificate, ofTokens, ofKey] = await lookAt(Date.now());
  assert.match(JSON.stringify(ofCertificate), /It (?:is valid until|expires on) \d{4}-/);
  assertFault(ofTokens === undefined ? [] : [ofTokens], "warning", /^Other users of this machine can access/);
  assertFault(ofKey === undefined ? [] : [ofKey], "error", /^There is no file/);
  const [later] = await lookAt(Date.now() + 100 * 365 * 86_400_000);
  assertFault(later === undefined ? [] : [later], "error", /^It expired on/);
});
