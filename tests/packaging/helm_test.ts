import assert from "node:assert/strict";
import { parseAllDocuments, stringify } from "yaml";
import { z } from "zod";
import { flagGroups } from "../../src/cli/flags.ts";
import { parseFlags } from "../../src/cli/parse_flags.ts";
import denoConfig from "../../deno.json" with { type: "json" };
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../support/temporary_folder.ts";
import { stopGraceMs } from "../../src/http/listener.ts";
import { artefact, load, merged, packaging, readYaml, succeed, warningsOf } from "./artefacts.ts";
import { testWithPrograms } from "../support/programs.ts";

const chart = fileURLToPath(new URL("helm/postern", packaging));
// a helm from source takes itself to be for a Kubernetes that is too old for the chart
const template = ["template", "try", chart, "--kube-version", "1.31.0"];
const record = z.record(z.string(), z.unknown());
const values = record.parse(readYaml(await artefact("helm/postern/values.yaml")));
const replicasFile = `${chart}/values-replicas.yaml`;
// of two lists Helm takes the last
const withReplicas = record.parse(
  merged(values, readYaml(await artefact("helm/postern/values-replicas.yaml")), (_below, above) => above),
);

/** What Helm makes of the chart with these arguments. */
async function rendered(...args: readonly string[]): Promise<Record<string, unknown>[]> {
  const documents = parseAllDocuments(await succeed("helm", [...template, ...args]));
  return (Array.isArray(documents) ? documents : []).map((document) => record.parse(document.toJS()));
}

Deno.test("the chart is of this version, and its values are those of its schema", async () => {
  const { appVersion } = record.parse(readYaml(await artefact("helm/postern/Chart.yaml")));
  assert.equal(appVersion, denoConfig.version);
  const schema = z.looseObject({ properties: record }).parse(
    JSON.parse(await artefact("helm/postern/values.schema.json")),
  );
  assert.deepEqual(Object.keys(values), Object.keys(schema.properties).filter((name) => name !== "global"));
});

Deno.test("the chart's configuration loads without a warning", async () => {
  const config = stringify(values["config"]);
  for (const flag of ["-http", "-rag"]) assert.deepEqual(await warningsOf([flag], config), []);
});

Deno.test("values-replicas.yaml: both servers share their state, and each file is in a secret that is mounted", async () => {
  const config = stringify(withReplicas["config"]);
  for (const flag of ["-http", "-rag"]) {
    const { warnings, config: { state: { database }, http } } = await load([flag], config);
    assert.deepEqual(warnings, []);
    assert.deepEqual([database?.database, database?.user], ["app", "postern_state"]);
    assert.equal(http.auth.user_file, "/run/secrets/users/users.yaml");
  }
  const secrets = z.array(z.looseObject({ name: z.string() })).parse(withReplicas["secrets"]);
  assert.deepEqual(
    [...new Set([...config.matchAll(/\/run\/secrets\/(\w+)\//g)].map(([, name = ""]) => name))].toSorted(),
    secrets.map(({ name }) => name).toSorted(),
  );
});

Deno.test("the flags in the chart's templates are the program's", async () => {
  const known = new Set(flagGroups.flatMap(({ flags }) => flags.map(({ flag }) => `-${flag}`)));
  const written: string[] = [];
  for (const name of ["_helpers.tpl", "tools.yaml", "rag.yaml", "watch.yaml"]) {
    const template = await artefact(`helm/postern/templates/${name}`);
    written.push(
      ...[...template.matchAll(/"(-[a-z-]+)"/g)].map(([, flag = ""]) => flag).filter((flag) => flag !== "-"),
    );
  }
  assert.deepEqual(written, [
    "-config",
    "-http",
    "-addr",
    "-rag",
    "-rag-listen",
    "-rag-port",
    "-watch-pipeline",
    "-db-user",
  ]);
  assert.deepEqual(written.filter((flag) => !known.has(flag)), []);
});

testWithPrograms(["helm"], "Helm takes the chart, and makes what Kubernetes runs", async () => {
  await using folder = await temporaryFolder();
  const file = `${folder.path}/values.yaml`;
  await Deno.writeTextFile(
    file,
    stringify({
      config: { databases: [{ name: "main", password_file: "/run/secrets/database/password" }] },
      secrets: [{ name: "tokens", secretName: "postern-tokens" }, { name: "database", secretName: "db" }],
      tools: { replicas: 2 },
      rag: { enabled: true, port: 9000 },
    }),
  );
  await succeed("helm", ["lint", "--strict", "--values", file, chart]);
  const objects = await rendered("--values", file);
  assert.deepEqual(objects.map(({ kind }) => kind).toSorted(), [
    "ConfigMap",
    ...["Deployment", "Deployment", "NetworkPolicy", "NetworkPolicy"],
    ...["PodDisruptionBudget", "PodDisruptionBudget", "Service", "Service", "ServiceAccount"],
  ]);
  const [config = ""] = objects.filter(({ kind }) => kind === "ConfigMap").map(({ data }) =>
    z.object({ "config.yaml": z.string() }).parse(data)["config.yaml"]
  );
  for (const { kind, spec } of objects) {
    if (kind !== "Deployment") continue;
    const { template: { spec: pod } } = deployment.parse(spec);
    const [container] = pod.containers;
    assert.deepEqual(await warningsOf(container.args, config), []);
    assert.deepEqual(
      container.volumeMounts.map(({ name }) => name).toSorted(),
      pod.volumes.map(({ name }) => name).toSorted(),
    );
    assert.ok(container.volumeMounts.some(({ mountPath }) => mountPath === "/run/secrets/database"));
    assert.ok(container.volumeMounts.every((mount) => !("subPath" in mount)));
  }
  await assert.rejects(
    succeed("helm", [...template, "--set", "rag.prot=1"]),
    /additional properties|Additional property prot/i,
  );
});

testWithPrograms(
  ["helm"],
  "with metrics.enabled each pod serves its metrics, to whom the policy names",
  async () => {
    const prometheus = { podSelector: { matchLabels: { app: "prometheus" } } };
    await using folder = await temporaryFolder();
    const file = `${folder.path}/values.yaml`;
    await Deno.writeTextFile(
      file,
      stringify({
        metrics: { enabled: true, port: 9999 },
        networkPolicy: { metrics: { from: [prometheus] } },
        rag: { enabled: true, env: [{ name: "POSTERN_LOG_LEVEL", value: "debug" }] },
      }),
    );
    const objects = await rendered("--values", file);
    const specs = (wanted: string) => objects.filter(({ kind }) => kind === wanted).map(({ spec }) => spec);
    for (const spec of specs("Deployment")) {
      const [{ env, ports }] = deployment.parse(spec).template.spec.containers;
      assert.ok(JSON.stringify(env).includes('{"name":"POSTERN_METRICS_ADDRESS","value":":9999"}'));
      assert.ok(JSON.stringify(ports).includes('{"name":"metrics","containerPort":9999}'));
    }
    const policies = specs("NetworkPolicy");
    assert.equal(policies.length, 2);
    for (const policy of policies) {
      assert.deepEqual(record.array().parse(record.parse(policy)["ingress"]).at(-1), {
        ports: [{ port: "metrics" }],
        from: [prometheus],
      });
    }
  },
);

testWithPrograms(
  ["helm"],
  "a worker serves nothing, is reached by nobody, and runs where it is asked for",
  async () => {
    const on = ["--set", "watch.enabled=true,watch.pipeline=handbook,metrics.enabled=true"];
    const ofWorker = async (...args: readonly string[]) =>
      (await rendered(...args)).filter(({ metadata }) =>
        record.parse(metadata)["name"] === "try-postern-watch"
      );
    assert.deepEqual(await ofWorker(), []);
    const objects = await ofWorker(...on, "--set", "watch.dbUser=rag_owner");
    assert.deepEqual(objects.map(({ kind }) => kind).toSorted(), ["Deployment", "NetworkPolicy"]);
    for (const { kind, spec } of objects) {
      if (kind === "NetworkPolicy") {
        assert.deepEqual(record.parse(spec)["ingress"], []);
        assert.ok(JSON.stringify(spec).includes('{"port":5432,"protocol":"TCP"}'));
        continue;
      }
      const { template: { spec: pod } } = deployment.parse(spec);
      const [{ args, ports, env, startupProbe, lifecycle }] = pod.containers;
      const flags = parseFlags(args);
      assert.deepEqual([flags.operation, flags.pipeline, flags.settings.get("databases[0].user")?.text], [
        "watch-pipeline",
        "handbook",
        "rag_owner",
      ]);
      assert.deepEqual([ports, env, startupProbe, lifecycle], [undefined, undefined, undefined, undefined]);
      // a batch that is under way has 20 seconds
      assert.ok(pod.terminationGracePeriodSeconds > 20);
    }
    await assert.rejects(
      succeed("helm", [...template, "--set", "watch.enabled=true"]),
      /watch\.pipeline names/,
    );
  },
);

testWithPrograms(
  ["helm"],
  "a user's address stays with its pod, unless the pods share their state",
  async () => {
    const affinities = async (...args: readonly string[]) =>
      (await rendered("--set", "rag.enabled=true", ...args)).filter(({ kind }) => kind === "Service").map((
        { spec },
      ) => record.parse(spec)["sessionAffinity"] ?? "none").toSorted();
    assert.deepEqual(await affinities(), ["ClientIP", "none"]);
    assert.deepEqual(await affinities("--set", "config.state=null"), ["ClientIP", "none"]);
    assert.deepEqual(await affinities("--values", replicasFile), ["none", "none"]);
  },
);

testWithPrograms(
  ["helm"],
  "values-replicas.yaml: three pods of each server, of which an upgrade keeps all ready",
  async () => {
    await succeed("helm", ["lint", "--strict", "--values", replicasFile, chart]);
    const objects = await rendered("--values", replicasFile);
    const ofKind = (wanted: string) => objects.filter(({ kind }) => kind === wanted);
    assert.equal(ofKind("PodDisruptionBudget").length, 2);
    const deployments = ofKind("Deployment").map(({ spec }) => deployment.parse(spec));
    assert.equal(deployments.length, 2);
    for (const { replicas, strategy, template: { spec: pod } } of deployments) {
      assert.equal(replicas, 3);
      assert.deepEqual(strategy, {
        type: "RollingUpdate",
        rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
      });
      const [{ lifecycle, volumeMounts }] = pod.containers;
      assert.ok(lifecycle !== undefined);
      const atEnd = lifecycle.preStop.sleep.seconds + stopGraceMs / 1_000;
      assert.ok(pod.terminationGracePeriodSeconds > atEnd, `it takes ${atEnd} s to stop`);
      for (const name of ["tokens", "users", "database", "state"]) {
        assert.ok(volumeMounts.some(({ mountPath }) => mountPath === `/run/secrets/${name}`), name);
      }
    }
    // before 1.30 a pod cannot wait without a program for it
    assert.doesNotMatch(
      await succeed("helm", [...template, "--kube-version", "1.29.0", "--values", replicasFile]),
      /preStop/,
    );
  },
);

testWithPrograms(["helm"], "a claim is refused to several pods", async () => {
  for (const name of ["tools", "rag"]) {
    const set = (replicas: number) => [
      ...["--set", `${name}.enabled=true`],
      ...["--set", `${name}.existingClaim=mine,${name}.replicas=${replicas}`],
    ];
    await assert.rejects(
      succeed("helm", [...template, "--values", replicasFile, ...set(2)]),
      new RegExp(`Cannot give ${name}\\.existingClaim to 2 pods: set ${name}\\.replicas to 1, or `),
    );
    const strategies = (await rendered(...set(1))).filter(({ kind }) => kind === "Deployment").map((
      { spec },
    ) => deployment.parse(spec).strategy.type);
    assert.ok(strategies.includes("Recreate"));
  }
});

testWithPrograms(["helm"], "the notes warn of several pods that share nothing", async () => {
  await using folder = await temporaryFolder();
  await succeed("cp", ["-r", chart, `${folder.path}/chart`]);
  const templates = `${folder.path}/chart/templates`;
  // `helm template` does not print them, and `helm install` asks a cluster first
  const notes = await artefact("helm/postern/templates/NOTES.txt");
  await Deno.writeTextFile(`${templates}/_notes.tpl`, `{{ define "notes" }}${notes}{{ end }}`);
  await Deno.writeTextFile(`${templates}/notes.yaml`, 'notes: {{ include "notes" . | toJson }}\n');
  const [, , ...options] = template;
  const warned = async (...args: readonly string[]) => {
    const printed = await succeed("helm", [
      ...["template", "try", `${folder.path}/chart`, "--show-only", "templates/notes.yaml"],
      ...options.slice(1),
      ...args,
    ]);
    return [...printed.matchAll(/WARNING: The (\d) pods of the (\w+) server/g)].map(([, count, name]) =>
      `${count} ${name}`
    );
  };
  const several = ["--set", "tools.replicas=2,rag.enabled=true,rag.replicas=3"];
  assert.deepEqual(await warned(), []);
  assert.deepEqual(await warned(...several), ["2 tool"]);
  assert.deepEqual(await warned(...several, "--set", "config.server.auth.enabled=true"), ["2 tool", "3 RAG"]);
  assert.deepEqual(
    await warned(...several, "--set", "config.limits.default.calls_per_minute=60"),
    ["2 tool", "3 RAG"],
  );
  assert.deepEqual(await warned("--values", replicasFile, "--set", "config.server.auth.enabled=true"), []);
});

const named = z.looseObject({ name: z.string() });
const deployment = z.looseObject({
  replicas: z.number(),
  strategy: z.looseObject({ type: z.string() }),
  template: z.looseObject({
    spec: z.looseObject({
      terminationGracePeriodSeconds: z.number(),
      volumes: z.array(named),
      containers: z.tuple([
        z.looseObject({
          args: z.array(z.string()),
          lifecycle: z.object({ preStop: z.object({ sleep: z.object({ seconds: z.number() }) }) }).optional(),
          volumeMounts: z.array(named.extend({ mountPath: z.string() })),
        }),
      ]),
    }),
  }),
});
