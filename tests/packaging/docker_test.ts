import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { parseFlags } from "../../src/cli/parse_flags.ts";
import { runProgram } from "../support/server_process.ts";
import { artefact, load, packaging, readCompose, warningsOf } from "./artefacts.ts";

const dockerfile = await artefact("docker/Dockerfile");

/** The arguments of the last instruction with this name that is in the JSON form. */
function argumentsOf(instruction: string): string[] {
  const pattern = new RegExp(`^(?:HEALTHCHECK [^[]*)?\\s*${instruction} (\\[.*\\])$`, "gm");
  const last = [...dockerfile.matchAll(pattern)].at(-1)?.[1];
  assert.ok(last !== undefined, `there is no ${instruction}`);
  return z.array(z.string()).parse(JSON.parse(last));
}

const volume = z.string().transform((text) => {
  // a default for a variable holds a colon too
  const [from = "", to = "", mode = "rw"] = text.replace(/\$\{\w+:-([^}]*)\}/, "$1").split(":");
  return { from, to, mode };
});
const service = z.strictObject({
  image: z.string(),
  build: z.strictObject({ context: z.string(), dockerfile: z.string() }).optional(),
  user: z.string().optional(),
  read_only: z.boolean().optional(),
  tmpfs: z.array(z.string()).optional(),
  cap_drop: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).optional(),
  entrypoint: z.array(z.string()).optional(),
  command: z.array(z.string()).optional(),
  network_mode: z.string().optional(),
  volumes: z.array(volume),
  deploy: z.strictObject({ replicas: z.number() }).optional(),
  ports: z.array(z.string()).nullish().transform((ports) => ports ?? []),
  depends_on: z.record(
    z.string(),
    z.strictObject({ condition: z.enum(["service_healthy", "service_completed_successfully"]) }),
  ).optional(),
  healthcheck: z.looseObject({ test: z.array(z.string()).optional(), disable: z.boolean().optional() })
    .optional(),
  restart: z.string().optional(),
  profiles: z.array(z.string()).optional(),
});
const composeFile = z.looseObject({
  services: z.record(z.string(), service),
  volumes: z.record(z.string(), z.null()),
});

/** What the files have together. */
async function variant(title: string, ...files: readonly string[]) {
  const compose = composeFile.parse(await readCompose(...files));
  const services = Object.entries(compose.services);
  return { title, compose, services, ofPostern: services.filter(([, { build }]) => build !== undefined) };
}

const alone = await variant("compose.yaml", "compose.yaml");
const replicas = await variant("compose_replicas.yaml", "compose.yaml", "compose_replicas.yaml");
const balancer = await artefact("docker/compose_balancer.conf");

Deno.test("the image runs the tool server on its configuration, and its health check asks it", async () => {
  const [program] = argumentsOf("ENTRYPOINT");
  assert.equal(program, "/usr/bin/postern");
  assert.deepEqual(await warningsOf(argumentsOf("CMD"), await artefact("docker/default.yaml")), []);
  const probe = [...dockerfile.matchAll(/^ {2}CMD (\[.*\])$/gm)].at(-1)?.[1] ?? "[]";
  const [prober, ...flags] = z.array(z.string()).parse(JSON.parse(probe));
  assert.equal(prober, program);
  assert.equal(parseFlags(flags).subject, "http://127.0.0.1:8080/health");
});

Deno.test("the image is made of files that are there, and is not root's", async () => {
  const copied = [...dockerfile.matchAll(/^COPY ((?:--\S+ )*)(.+) \S+$/gm)].flatMap(([, , paths = ""]) =>
    paths.split(" ")
  );
  assert.ok(copied.length > 2);
  for (const path of copied.filter((path) => !path.startsWith("$"))) {
    assert.ok((await Deno.stat(new URL(`../${path}`, packaging))).isFile, path);
  }
  assert.match(dockerfile, /^USER 65532:65532$/m);
});

for (const { title, compose, services, ofPostern } of [alone, replicas]) {
  Deno.test(`${title}: each of Postern's command lines takes its configuration`, async () => {
    const config = await artefact("docker/compose_config.yaml");
    assert.deepEqual(ofPostern.map(([name]) => name), ["ingest", "index", "tools", "rag", "watch"]);
    // what nobody asked for does not run
    assert.deepEqual(services.filter(([, { profiles }]) => profiles !== undefined).map(([name]) => name), [
      "watch",
    ]);
    assert.deepEqual(compose.services["watch"]?.profiles, ["watch"]);
    for (const [name, { command = [], environment, volumes }] of ofPostern) {
      assert.deepEqual((await load(command, config, environment)).warnings, [], name);
      const mounted = volumes.find(({ to }) => to === "/etc/postern/config.yaml");
      assert.equal(mounted?.from, "./compose_config.yaml", name);
    }
  });

  Deno.test(`${title}: whatever a service names is there`, async () => {
    for (const [name, { build, volumes, depends_on = {} }] of services) {
      for (const { from } of volumes) {
        if (from.startsWith(".")) await Deno.stat(new URL(from, new URL("docker/", packaging)));
        else assert.ok(from in compose.volumes, `${name}: ${from}`);
      }
      if (build !== undefined) {
        await Deno.stat(new URL(`docker/${build.context}/${build.dockerfile}`, packaging));
      }
      for (const [other, { condition }] of Object.entries(depends_on)) {
        const depended = compose.services[other];
        assert.ok(depended !== undefined, `${name}: ${other}`);
        const runsOn = depended.restart !== undefined;
        assert.equal(
          condition,
          runsOn || other === "database" ? "service_healthy" : "service_completed_successfully",
        );
        if (condition === "service_healthy") assert.ok(depended.healthcheck?.test !== undefined, other);
      }
    }
    const used = new Set(services.flatMap(([, { volumes }]) => volumes.map(({ from }) => from)));
    assert.deepEqual(Object.keys(compose.volumes).filter((name) => !used.has(name)), []);
  });

  Deno.test(`${title}: what runs on is asked for its health, and is reached from this machine alone`, () => {
    for (const [name, { restart, healthcheck, ports }] of services) {
      for (const port of ports) assert.match(port, /^127\.0\.0\.1:/, name);
      // a worker serves nothing
      if (restart !== undefined && name !== "watch") assert.ok(healthcheck?.test !== undefined, name);
    }
    const published = services.flatMap(([, { ports }]) => ports);
    const probed = ["tools", "rag"].map((name) => {
      const [, program, ...flags] = compose.services[name]?.healthcheck?.test ?? [];
      assert.equal(program, "/usr/bin/postern");
      return new URL(parseFlags(flags).subject).port;
    });
    assert.deepEqual(published, probed.map((port) => `127.0.0.1:${port}:${port}`));
  });

  Deno.test(`${title}: Postern's containers write to their volumes alone`, () => {
    for (const [name, container] of ofPostern) {
      assert.equal(container.read_only, true, name);
      assert.deepEqual(container.cap_drop, ["ALL"], name);
      assert.deepEqual(container.security_opt, ["no-new-privileges:true"], name);
      assert.equal(container.user, "65532:65532", name);
    }
  });
}

Deno.test("no password is in a file of Compose", async () => {
  for (const file of ["compose.yaml", "compose_replicas.yaml", "compose_config.yaml"]) {
    assert.doesNotMatch(
      await artefact(`docker/${file}`),
      /^\s*(password|PGPASSWORD|POSTGRES_PASSWORD|POSTERN_STATE_PASSWORD): /m,
    );
  }
});

Deno.test("compose_replicas.yaml: three replicas of each server share their state, with connections for all", async () => {
  const config = await artefact("docker/compose_config.yaml");
  let connections = 0;
  for (const name of ["tools", "rag"]) {
    const { command = [], environment, deploy, ports, depends_on = {} } = replicas.compose.services[name] ??
      {};
    assert.equal(deploy?.replicas, 3, name);
    assert.deepEqual(ports, [], name);
    assert.ok("state" in depends_on && "index" in depends_on, name);
    const { config: { state: { database }, ...loaded } } = await load(command, config, environment);
    assert.deepEqual(
      [database?.hosts, database?.database, database?.user, database?.sslmode],
      [[{ host: "database", port: 5432 }], "handbook", "postern_state", "disable"],
    );
    const ofCallers = name === "tools"
      ? loaded.max_connections
      : loaded.pipelines.reduce((sum, { database }) => sum + database.pool_max_conns, 0);
    connections += 3 * (ofCallers + 1);
  }
  // PostgreSQL's default, less those for superusers and for -ingest and the like
  assert.ok(connections <= 100 - 3 - 2, `${connections} connections`);
  const { database, state } = replicas.compose.services;
  assert.equal(state?.image, database?.image);
});

Deno.test("compose_replicas.yaml: nginx listens where its ports are, and knows the servers' names and ports", () => {
  const all = (pattern: RegExp) => [...balancer.matchAll(pattern)].map(([, found]) => found);
  const ports = ["8080", "8081"];
  assert.deepEqual(all(/^\s*listen\s+(\d+);$/gm), ports);
  assert.deepEqual(
    replicas.compose.services["balancer"]?.ports,
    ports.map((port) => `127.0.0.1:${port}:${port}`),
  );
  assert.deepEqual(all(/^\s*server\s+(\S+) resolve;$/gm), ["tools:8080", "rag:8081"]);
});

Deno.test("state.sql is what the program prints", async () => {
  const config = fileURLToPath(new URL("docker/compose_config.yaml", packaging));
  const { code, stdout, stderr } = await runProgram(["-config", config, "-setup-state"], {
    POSTERN_STATE_DATABASE: "handbook",
  });
  assert.equal(code, 0, stderr);
  assert.equal(
    await artefact("docker/state.sql"),
    stdout,
    "make it anew: dist/server -setup-state > packaging/docker/state.sql",
  );
});
