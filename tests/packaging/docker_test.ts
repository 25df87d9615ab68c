import assert from "node:assert/strict";
import { z } from "zod";
import { parseFlags } from "../../src/cli/parse_flags.ts";
import { artefact, packaging, readYaml, warningsOf } from "./artefacts.ts";

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
  ports: z.array(z.string()).optional(),
  depends_on: z.record(
    z.string(),
    z.strictObject({ condition: z.enum(["service_healthy", "service_completed_successfully"]) }),
  ).optional(),
  healthcheck: z.looseObject({ test: z.array(z.string()).optional(), disable: z.boolean().optional() })
    .optional(),
  restart: z.string().optional(),
});
const composeFile = z.looseObject({
  services: z.record(z.string(), service),
  volumes: z.record(z.string(), z.null()),
});
const compose = composeFile.parse(readYaml(await artefact("docker/compose.yaml")));
const services = Object.entries(compose.services);
const ofPostern = services.filter(([, { build }]) => build !== undefined);

Deno.test("the image runs the tool server on its configuration, and its health check asks it", async () => {
  const [program] = argumentsOf("ENTRYPOINT");
  assert.equal(program, "/usr/bin/postern");
  assert.deepEqual(await warningsOf(argumentsOf("CMD"), await artefact("docker/default.yaml")), []);
  const probe = [...dockerfile.matchAll(/^ {2}CMD (\[.*\])$/gm)].at(-1)?.[1] ?? "[]";
  const [prober, ...flags] = z.array(z.string()).parse(JSON.parse(probe));
  assert.equal(prober, program);
  assert.equal(parseFlags(flags).probeUrl, "http://127.0.0.1:8080/health");
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

Deno.test("compose.yaml: each of Postern's command lines takes its configuration", async () => {
  const config = await artefact("docker/compose_config.yaml");
  assert.deepEqual(ofPostern.map(([name]) => name), ["ingest", "index", "tools", "rag"]);
  for (const [name, { command = [], volumes }] of ofPostern) {
    assert.deepEqual(await warningsOf(command, config), [], name);
    const mounted = volumes.find(({ to }) => to === "/etc/postern/config.yaml");
    assert.equal(mounted?.from, "./compose_config.yaml", name);
  }
});

Deno.test("compose.yaml: whatever a service names is there", async () => {
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

Deno.test("compose.yaml: what runs on is asked for its health, and is reached from this machine alone", () => {
  for (const [name, { restart, healthcheck, ports = [] }] of services) {
    if (restart === undefined) continue;
    assert.ok(healthcheck?.test !== undefined, name);
    for (const port of ports) assert.match(port, /^127\.0\.0\.1:/, name);
  }
  for (const name of ["tools", "rag"]) {
    const [, program, ...flags] = compose.services[name]?.healthcheck?.test ?? [];
    assert.equal(program, "/usr/bin/postern");
    const port = new URL(parseFlags(flags).probeUrl ?? "").port;
    assert.deepEqual(compose.services[name]?.ports, [`127.0.0.1:${port}:${port}`]);
  }
});

Deno.test("compose.yaml: Postern's containers write to their volumes alone, and no password is in a file", async () => {
  for (const [name, container] of ofPostern) {
    assert.equal(container.read_only, true, name);
    assert.deepEqual(container.cap_drop, ["ALL"], name);
    assert.deepEqual(container.security_opt, ["no-new-privileges:true"], name);
    assert.equal(container.user, "65532:65532", name);
  }
  for (const path of ["docker/compose.yaml", "docker/compose_config.yaml"]) {
    assert.doesNotMatch(await artefact(path), /^\s*(password|PGPASSWORD|POSTGRES_PASSWORD): /m);
  }
});
