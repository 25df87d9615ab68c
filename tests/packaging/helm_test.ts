import assert from "node:assert/strict";
import { parseAllDocuments, stringify } from "yaml";
import { z } from "zod";
import { flagGroups } from "../../src/cli/flags.ts";
import denoConfig from "../../deno.json" with { type: "json" };
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../support/temporary_folder.ts";
import { artefact, packaging, readYaml, succeed, warningsOf } from "./artefacts.ts";
import { testWithPrograms } from "../support/programs.ts";

const chart = fileURLToPath(new URL("helm/postern", packaging));
// a helm from source takes itself to be for a Kubernetes that is too old for the chart
const template = ["template", "try", chart, "--kube-version", "1.31.0"];
const record = z.record(z.string(), z.unknown());
const values = record.parse(readYaml(await artefact("helm/postern/values.yaml")));

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

Deno.test("the flags in the chart's templates are the program's", async () => {
  const known = new Set(flagGroups.flatMap(({ flags }) => flags.map(({ flag }) => `-${flag}`)));
  const written: string[] = [];
  for (const name of ["_helpers.tpl", "tools.yaml", "rag.yaml"]) {
    const template = await artefact(`helm/postern/templates/${name}`);
    written.push(
      ...[...template.matchAll(/"(-[a-z-]+)"/g)].map(([, flag = ""]) => flag).filter((flag) => flag !== "-"),
    );
  }
  assert.deepEqual(written, ["-config", "-http", "-addr", "-rag", "-rag-listen", "-rag-port"]);
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
  const rendered = await succeed("helm", [...template, "--values", file]);
  const documents = parseAllDocuments(rendered);
  const objects = (Array.isArray(documents) ? documents : []).map((document) =>
    record.parse(document.toJS())
  );
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
    const documents = parseAllDocuments(await succeed("helm", [...template, "--values", file]));
    const objects = (Array.isArray(documents) ? documents : []).map((document) =>
      record.parse(document.toJS())
    );
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

const named = z.looseObject({ name: z.string() });
const deployment = z.looseObject({
  template: z.looseObject({
    spec: z.looseObject({
      volumes: z.array(named),
      containers: z.tuple([
        z.looseObject({
          args: z.array(z.string()),
          volumeMounts: z.array(named.extend({ mountPath: z.string() })),
        }),
      ]),
    }),
  }),
});
