import assert from "node:assert/strict";
import { createConfigFolder, databaseEntry, startConfiguredServer } from "../../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../../support/database.ts";
import { createCertificateAuthority } from "../../support/network/certificates.ts";
import { openRawConnection } from "../../support/network/raw_connection.ts";
import { rawExchange } from "../../support/network/raw_exchange.ts";
import { testWithPrograms } from "../../support/programs.ts";
import { scrape } from "../../support/scrape.ts";
import { runProgram, type ServerProcess, startServer } from "../../support/server_process.ts";
import { waitUntil } from "../../support/wait_until.ts";

const isLinux = Deno.build.os === "linux";
const linuxTest = (name: string, fn: (t: Deno.TestContext) => Promise<void>) =>
  isLinux ? Deno.test(name, fn) : Deno.test({ name: `${name} (needs Linux)`, ignore: true, fn });
const linuxTestWithPostgres = isLinux ? testWithPostgres : linuxTest;

const noDatabase = "databases: []";
const metricsHere = 'metrics: { address: "127.0.0.1:0" }';

async function allServe(server: ServerProcess, count = 2): Promise<void> {
  await waitUntil("all serve", () => server.stderr().includes(`${count} processes serve`));
}

function childrenOf({ pid }: Pick<ServerProcess, "pid">): number[] {
  const text = Deno.readTextFileSync(`/proc/${pid}/task/${pid}/children`);
  return text.trim().split(" ").filter((part) => part !== "").map(Number);
}

function isAlive(pid: number): boolean {
  try {
    // of one that has ended and was not waited for, Z
    return !/\) Z /.test(Deno.readTextFileSync(`/proc/${pid}/stat`));
  } catch {
    return false;
  }
}

/** A call of a tool on a connection of its own, which the system gives to any process. */
async function call(url: string, token: string, query: string): Promise<string> {
  const params = { name: "query_database", arguments: { query } };
  const reply = await rawExchange(url, {
    method: "POST",
    path: "/mcp/v1",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  assert.equal(reply.status, 200, reply.text);
  return reply.text;
}

async function callsIn(file: string): Promise<number> {
  const text = await Deno.readTextFile(file);
  return text.split("\n").filter((line) => line.includes('"event":"tool_call"')).length;
}

linuxTestWithPostgres(
  "two processes answer, are counted as one, and each has an audit trail of its own",
  async () => {
    await using database = await createTestDatabase();
    await using running = await startConfiguredServer(
      `{ databases: [${
        databaseEntry("main", database.name)
      }], audit: { file: audit.jsonl }, ${metricsHere} }`,
      ["-processes", "2"],
    );
    const { server, folder, token } = running;
    await allServe(server);
    assert.equal(childrenOf(server).length, 2);
    for (let n = 0; n < 40; n++) {
      assert.match(
        await call(server.url, token, `SELECT ${n} + 0`),
        /"row_count":1/,
      );
    }

    const trails = [`${folder.path}/audit.jsonl`, `${folder.path}/audit-2.jsonl`];
    const calls = await Promise.all(trails.map(callsIn));
    assert.ok(calls.every((count) => count > 0), `each process answers: ${calls}`);
    assert.equal(calls.reduce((sum, count) => sum + count), 40);
    const { value, samples } = await scrape(server);
    assert.equal(value("postern_tool_calls_total", { tool: "query_database", outcome: "ok" }), 40);
    assert.equal(value("postern_tool_call_seconds_count", { tool: "query_database" }), 40);
    assert.equal(value("postern_build_info"), 1);
    assert.equal(value("postern_database_connections_max"), 100);
    const processes = samples.filter(({ name }) => name === "process_resident_memory_bytes");
    assert.deepEqual(processes.map(({ labels }) => labels["process"]).toSorted(), ["1", "2", "parent"]);

    assert.equal(await server.stop(), 0);
    const { code, stdout, stderr } = await runProgram(["-verify-audit", ...trails]);
    assert.equal(code, 0, stderr);
    assert.equal(stdout.match(/is whole/g)?.length, 2);
  },
);

linuxTestWithPostgres(
  "a process that is killed is started again, the others go on, no counter goes back",
  async () => {
    await using database = await createTestDatabase();
    await using running = await startConfiguredServer(
      `{ databases: [${databaseEntry("main", database.name)}], ${metricsHere} }`,
      ["-processes", "2"],
    );
    const { server, token } = running;
    await allServe(server);
    const counted = async () => {
      const { value } = await scrape(server);
      return [
        value("postern_tool_calls_total", { outcome: "ok" }),
        value("postern_tool_call_seconds_count"),
        value("process_cpu_seconds_total"),
      ] as const;
    };
    for (let n = 0; n < 20; n++) await call(server.url, token, `SELECT ${n}`);
    const before = await counted();
    assert.deepEqual(before.slice(0, 2), [20, 20]);
    const [killed = 0, other = 0] = childrenOf(server);
    Deno.kill(killed, "SIGKILL");
    await waitUntil("it has ended", () => !isAlive(killed));
    const ready = async () => (await rawExchange(server.url, { path: "/ready" })).text;
    await waitUntil("one is missed", async () => /"status":"degraded"/.test(await ready().catch(String)));
    for (let n = 0; n < 5; n++) await call(server.url, token, `SELECT ${n}`);
    await waitUntil("it is started again", () => childrenOf(server).length === 2);
    assert.ok(isAlive(other));
    await waitUntil("all are ready", async () => /"status":"ready"/.test(await ready()));
    assert.match(
      server.stderr(),
      /ERROR A process has ended and is started again process=1 exit_code=137 signal=SIGKILL pause_ms=100\n/,
    );
    const after = await counted();
    assert.deepEqual(after.slice(0, 2), [25, 25]);
    assert.ok(after[2] >= before[2], `${after[2]} seconds after ${before[2]}`);
    const { value } = await scrape(server);
    assert.equal(value("postern_database_connections_max"), 100, "the dead have none");
    assert.equal(await server.stop(), 0);
  },
);

linuxTest("no process outlives a parent that is killed", async () => {
  await using running = await startConfiguredServer(noDatabase, ["-processes", "3"]);
  await allServe(running.server, 3);
  const children = childrenOf(running.server);
  assert.equal(children.length, 3);
  const killedAt = performance.now();
  // resolves once nobody can write to the log any more
  await running.server.kill("SIGKILL");
  assert.ok(performance.now() - killedAt < 8_000, "they end as on SIGTERM, without a request at once");
  assert.deepEqual(children.filter(isAlive), []);
  assert.match(running.server.stderr(), /The parent process is gone/);
});

linuxTest("SIGTERM has requests under way answered, then ends all processes", async () => {
  using database = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const entry = `{ name: slow, host: 127.0.0.1, port: ${database.addr.port}, database: d, user: u }`;
  await using running = await startConfiguredServer(`databases: [${entry}]`, ["-processes", "2", "-no-auth"]);
  const { server, token } = running;
  // the start of each looks at the database too
  for (let n = 0; n < 2; n++) (await database.accept()).close();
  await allServe(server);
  const children = childrenOf(server);
  const answer = call(server.url, token, "SELECT 1");
  const asked = await database.accept();
  const stopped = server.stop();
  await waitUntil("no connection is taken any more", async () => !await isTaken(server.url));
  assert.ok(isAlive(server.pid));
  asked.close();
  assert.match(await answer, /Cannot reach database/);
  assert.equal(await stopped, 0);
  assert.deepEqual(children.filter(isAlive), []);
  assert.doesNotMatch(server.stderr(), /cut off|killed|ended and is started/);
});

linuxTest("a process that does not stop is killed", async () => {
  await using running = await startConfiguredServer(noDatabase, ["-processes", "2"]);
  const { server } = running;
  await allServe(server);
  const [stuck = 0] = childrenOf(server);
  Deno.kill(stuck, "SIGSTOP");
  assert.equal(await server.stop(), 0);
  assert.match(server.stderr(), /WARN {2}A process did not stop in time and is killed process=1\n/);
  assert.equal(isAlive(stuck), false);
});

linuxTest("SIGHUP to the parent reaches all processes; how many there are needs a restart", async () => {
  await using running = await startConfiguredServer("{ databases: [], processes: 2 }");
  const { server, folder } = running;
  await allServe(server);
  await folder.write("{ databases: [], processes: 3 }");
  Deno.kill(server.pid, "SIGHUP");
  for (
    const line of ["SIGHUP: reading", "Reloaded", "restart the server to apply the changes in processes"]
  ) {
    for (const number of [1, 2]) {
      const logged = new RegExp(`${line}.* process=${number}\\n`);
      await waitUntil(`${line} of ${number}`, () => logged.test(server.stderr()));
    }
  }
  assert.equal(childrenOf(server).length, 2);
});

linuxTest("a second server on the port does not start, with one process or two", async () => {
  await using running = await startConfiguredServer(noDatabase, ["-processes", "2"]);
  const { server, folder } = running;
  await allServe(server);
  const address = new URL(server.url).host;
  for (const processes of ["1", "2"]) {
    const flags = ["-http", "-addr", address, "-config", folder.configFile, "-processes", processes];
    const { code, stderr } = await runProgram(flags);
    assert.equal(code, 1, stderr);
    assert.match(stderr, new RegExp(`^postern: Cannot listen on ${address}: the address is in use$`, "m"));
  }
});

linuxTest("the RAG server shares its port too, alone and beside the tool server", async () => {
  for (const flags of [["-rag"], ["-rag", "-http", "-addr", "127.0.0.1:0", "-no-auth"]]) {
    await using folder = await createConfigFolder(
      "{ databases: [], server: { listen_address: 127.0.0.1, port: 0 }, processes: 2 }",
    );
    await using server = await startServer([...flags, "-config", folder.configFile]);
    await allServe(server);
    const urls = new Set(
      [...server.stderr().matchAll(/listening on (\S+) process=\d/g)].map(([, url = ""]) => url),
    );
    assert.equal(urls.size, flags.includes("-http") ? 2 : 1, server.stderr());
    for (const url of urls) {
      const isRag = url === server.url;
      const { status, text } = await rawExchange(url, { path: isRag ? "/v1/ready" : "/ready" });
      assert.deepEqual([status, JSON.parse(text).status], [200, "ready"]);
    }
    assert.equal(await server.stop(), 0);
  }
});

testWithPrograms(["openssl"], "processes share a port with TLS, and all take a new certificate", async () => {
  await using folder = await createConfigFolder(noDatabase);
  const authority = await createCertificateAuthority(folder.path, "authority");
  const names = { commonName: "localhost", subjectAltNames: ["DNS:localhost", "IP:127.0.0.1"] };
  const { certFile, keyFile } = await authority.issue(names);
  const flags = [
    "-http",
    "-addr",
    "127.0.0.1:0",
    "-no-auth",
    "-config",
    folder.configFile,
    "-processes",
    "2",
  ];
  await using server = await startServer([...flags, "-tls", "-cert", certFile, "-key", keyFile]);
  await allServe(server);
  const caCerts = [await Deno.readTextFile(authority.certFile)];
  const answered = async () => {
    using client = Deno.createHttpClient({ caCerts, poolMaxIdlePerHost: 0 });
    const response = await fetch(`${server.url}/health`, { client });
    await response.body?.cancel();
    return response.status;
  };
  for (let n = 0; n < 10; n++) assert.equal(await answered(), 200);
  // over the files of the first
  await authority.issue(names);
  await waitUntil(
    "both have it",
    () => [1, 2].every((n) => new RegExp(`Reloaded the certificate.* process=${n}\n`).test(server.stderr())),
  );
  for (let n = 0; n < 10; n++) assert.equal(await answered(), 200);
  assert.equal(await server.stop(), 0);
}, linuxTest);

linuxTest("what is wrong with a start is told once, with the exit code of one process", async () => {
  await using folder = await createConfigFolder(noDatabase);
  const flags = ["-http", "-tls", "-cert", "none.pem", "-key", "none.key", "-addr", "127.0.0.1:0"];
  const start = (processes: string) =>
    runProgram([...flags, "-config", folder.configFile, "-processes", processes]);
  const message = /^postern: Cannot read http\.tls\.cert_file .*$/gm;
  const [one, two] = await Promise.all([start("1"), start("2")]);
  assert.equal(two.code, one.code);
  assert.equal(two.code, 1);
  assert.deepEqual(two.stderr.match(message), one.stderr.match(message));
  assert.equal(two.stderr.match(message)?.length, 1);
});

linuxTest("over stdio and in the demo several processes are refused", async () => {
  await using folder = await createConfigFolder("{ databases: [], processes: 2 }");
  for (
    const [flags, reason] of [
      [[], "over stdio, which leads to one: serve over HTTP, with -http; set processes to 1"],
      [["-demo", "-http"], "in the demo: its database is in the memory of one; set processes to 1"],
    ] as const
  ) {
    const { code, stderr } = await runProgram([...flags, "-config", folder.configFile]);
    assert.equal(code, 1);
    assert.ok(stderr.includes(`postern: Cannot serve with 2 processes ${reason}\n`), stderr);
  }
});

linuxTest("systemd is told once that all processes serve, by their parent", async () => {
  await using folder = await createConfigFolder("{ databases: [], processes: 2 }");
  const path = `${folder.path}/systemd.sock`;
  const socket = Deno.listenDatagram({ transport: "unixpacket", path });
  const told: string[] = [];
  const listening = (async () => {
    for await (const [message] of socket) told.push(new TextDecoder().decode(message));
  })();
  await using server = await startServer(
    ["-http", "-addr", "127.0.0.1:0", "-no-auth", "-config", folder.configFile],
    { env: { NOTIFY_SOCKET: path } },
  );
  await waitUntil("systemd is told", () => told.length > 0);
  assert.equal(server.stderr().match(/listening on/g)?.length, 2);
  assert.equal(await server.stop(), 0);
  socket.close();
  await listening;
  assert.deepEqual(told, ["READY=1"]);
});

linuxTest("one process by default is no child and has none", async () => {
  await using running = await startConfiguredServer(noDatabase);
  assert.deepEqual(childrenOf(running.server), []);
  assert.doesNotMatch(running.server.stderr(), /process=|processes/);
});

async function isTaken(url: string): Promise<boolean> {
  try {
    using _connection = await openRawConnection(url);
    return true;
  } catch {
    return false;
  }
}

Deno.test("a variable that the parent alone sets is refused by name where somebody else has set it", async () => {
  await using folder = await createConfigFolder(noDatabase);
  for (const value of ["garbage", '{"number":1}', '{"number":0,"of":2,"ports":{"http":1,"server":1}}']) {
    const { code, stderr } = await runProgram(["-http", "-config", folder.configFile], {
      POSTERN_STARTED_BY_PARENT: value,
    });
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^postern: Cannot use the variable POSTERN_STARTED_BY_PARENT: the server alone sets it, .*; unset it\n$/,
    );
  }
});
