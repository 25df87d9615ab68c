import assert from "node:assert/strict";
import { join } from "node:path";
import { createConfigFolder } from "../support/configured_server.ts";
import { runProgram, startServer } from "../support/server_process.ts";
import { createToolClient } from "../support/tool_client.ts";
import { testWithPrograms } from "../support/programs.ts";

async function openssl(folder: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command("openssl", { args, cwd: folder, stderr: "piped" })
    .output();
  assert.ok(success, new TextDecoder().decode(stderr));
}

/** A root, an intermediate authority, and a certificate of the latter for localhost. */
async function makeCertificates(folder: string): Promise<void> {
  const request = ["req", "-newkey", "rsa:2048", "-nodes", "-sha256"];
  await openssl(
    folder,
    ...request,
    "-x509",
    "-days",
    "2",
    "-subj",
    "/CN=root",
    "-keyout",
    "root.key",
    "-out",
    "root.pem",
  );
  await openssl(folder, ...request, "-subj", "/CN=middle", "-keyout", "middle.key", "-out", "middle.csr");
  await Deno.writeTextFile(join(folder, "middle.ext"), "basicConstraints=critical,CA:true\n");
  await openssl(
    folder,
    ...["x509", "-req", "-in", "middle.csr", "-CA", "root.pem", "-CAkey", "root.key", "-CAcreateserial"],
    ...["-days", "2", "-extfile", "middle.ext", "-out", "middle.pem"],
  );
  await openssl(folder, ...request, "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr");
  await Deno.writeTextFile(join(folder, "server.ext"), "subjectAltName=DNS:localhost,IP:127.0.0.1\n");
  await openssl(
    folder,
    ...["x509", "-req", "-in", "server.csr", "-CA", "middle.pem", "-CAkey", "middle.key", "-CAcreateserial"],
    ...["-days", "2", "-extfile", "server.ext", "-out", "server.pem"],
  );
}

testWithPrograms(
  ["curl", "openssl"],
  "the server speaks HTTPS, with the intermediate certificates that a client needs, and refuses what is too large over HTTP/2 too",
  async () => {
    await using folder = await createConfigFolder("databases: []\n");
    await makeCertificates(folder.path);
    const { token } = await folder.addToken();
    const file = (name: string) => join(folder.path, name);
    const flags = [
      ...["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile, "-tls"],
      ...["-cert", file("server.pem"), "-key", file("server.key")],
    ];
    await using server = await startServer([...flags, "-chain", file("middle.pem")]);
    assert.match(server.url, /^https:/);
    using client = Deno.createHttpClient({ caCerts: [await Deno.readTextFile(file("root.pem"))] });
    const { request } = createToolClient({ url: server.url, token, client });
    assert.deepEqual((await request("ping", {})).result, {});

    // more than the client may send before the server reads (RFC 9113 section 6.9.2)
    const large = file("large.json");
    await Deno.writeTextFile(large, " ".repeat(6_000_000));
    for (
      const [path, length, expected] of [["/mcp/v1", "length", 413], ["/mcp/v1", "no length", 413], [
        "/nope",
        "length",
        404,
      ]]
    ) {
      const body = length === "length"
        ? ["--data-binary", `@${large}`]
        : ["-X", "POST", "-T", large, "-H", "content-length:"];
      const { stdout } = await new Deno.Command("curl", {
        args: [
          ...["--silent", "--http2", "--cacert", file("root.pem"), "--output", file("reply.json")],
          ...["--write-out", "%{http_version} %{http_code}", "--header", `Authorization: Bearer ${token}`],
          ...["--header", "Content-Type: application/json", ...body, `${server.url}${path}`],
        ],
      }).output();
      assert.equal(new TextDecoder().decode(stdout), `2 ${expected}`, `${path} with ${length}`);
    }

    const missing = await runProgram([...flags.slice(0, -2), "-key", file("nope.key")]);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /http\.tls\.key_file .*nope\.key: there is no such file/);
  },
);
