import assert from "node:assert/strict";
import { createCertificateAuthority } from "../support/network/certificates.ts";
import { createConfigFolder } from "../support/configured_server.ts";
import { runProgram, startServer } from "../support/server_process.ts";
import { testWithPrograms } from "../support/programs.ts";

Deno.test("-probe succeeds for a server that answers, whatever proxy the environment names", async () => {
  await using folder = await createConfigFolder("databases: []\n");
  await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  const env = { http_proxy: "http://127.0.0.1:1", HTTP_PROXY: "http://127.0.0.1:1" };
  assert.deepEqual(await runProgram(["-probe", `${server.url}/health`], env), {
    code: 0,
    stdout: "",
    stderr: "",
  });
  const other = await runProgram(["-probe", `${server.url}/elsewhere`]);
  assert.equal(other.code, 1);
  assert.match(other.stderr, /^postern: Cannot probe http:\/\/\S+\/elsewhere: it answers 404\n$/);
});

testWithPrograms(
  ["openssl"],
  "-probe succeeds over TLS too, by an address that the certificate does not name",
  async () => {
    await using folder = await createConfigFolder("databases: []\n");
    const authority = await createCertificateAuthority(folder.path, "root");
    const { certFile, keyFile } = await authority.issue({
      commonName: "tools.example.com",
      subjectAltNames: ["DNS:tools.example.com"],
    });
    const tls = ["-tls", "-cert", certFile, "-key", keyFile];
    await using server = await startServer(
      ["-http", "-addr", "127.0.0.1:0", ...tls, "-config", folder.configFile],
    );
    assert.deepEqual(await runProgram(["-probe", `${server.url}/health`]), {
      code: 0,
      stdout: "",
      stderr: "",
    });
  },
);

Deno.test("-probe fails where nothing answers, and says what kind of address it expects", async () => {
  const nobody = await runProgram(["-probe", "http://127.0.0.1:1/health"]);
  assert.equal(nobody.code, 1);
  assert.match(nobody.stderr, /^postern: Cannot probe http:\/\/127\.0\.0\.1:1\/health: .*refused/i);
  using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const closing = silent.accept().then((connection) => connection.close());
  const closed = await runProgram(["-probe", `http://127.0.0.1:${silent.addr.port}/`]);
  assert.match(closed.stderr, /: it closed the connection without an answer\n$|reset/);
  await closing;
  for (const url of ["127.0.0.1:8080", "ftp://127.0.0.1/health", ""]) {
    const { code, stderr } = await runProgram([`-probe=${url}`]);
    assert.equal(code, 1);
    assert.match(stderr, /expected an address such as http:\/\/127\.0\.0\.1:8080\/health/);
  }
});
