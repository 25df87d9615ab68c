import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { pagesWithCommands } from "../support/shell_blocks.ts";
import { createConfigFolder, databaseEntry } from "../support/configured_server.ts";
import { createTestDatabase, testWithPgvectorServer } from "../support/database.ts";
import { commandLine } from "../support/server_process.ts";
import { testWithPrograms } from "../support/programs.ts";

/** What the commands of a page find when they begin. */
interface Beginning {
  /** Commands that come before the page's own. */
  readonly before?: string;
  readonly replace?: Readonly<Record<string, string>>;
}

const ingestDocs = "server -config config.yaml -ingest handbook ./docs -db-user rag_owner\n";
const beginnings: Readonly<Record<string, Beginning>> = {
  "README.md": {},
  "docs/operations.md": {
    before: "server -config config.yaml -http",
    // the id that the page shows is made up
    replace: {
      "token-1763735000": '"$(server -config config.yaml -list-tokens -json | grep -om1 "token-[0-9]*")"',
    },
  },
  "docs/rag.md": {
    before: `${ingestDocs}server -config config.yaml -ingest handbook ./policies -db-user rag_owner`,
    replace: { "/srv/docs": "./docs", "/data/handbook-docs": "./handbook-docs" },
  },
  "docs/clients/http.md": { before: "server -config config.yaml -http" },
};

const pages = await pagesWithCommands();

Deno.test("each page with commands that are run has a beginning, and each that is not run a reason", () => {
  const run = pages.filter(({ blocks }) => blocks.some(({ reason }) => reason === undefined));
  assert.deepEqual(run.map(({ path }) => path).toSorted(), Object.keys(beginnings).toSorted());
});

for (const { path, blocks } of pages) {
  const { before = ":", replace = {} } = beginnings[path] ?? {};
  const run = blocks.filter(({ reason }) => reason === undefined);
  if (run.length === 0) continue;
  testWithPrograms(["curl"], `the commands of ${path} do what they say`, async () => {
    await using machine = await createMachine();
    await machine.run(before, "what the page begins with");
    for (const block of run) {
      const text = Object.entries(replace).reduce(
        (text, [from, to]) => text.replaceAll(from, to),
        block.text,
      );
      await machine.run(text, `${path}:${block.line}`);
    }
  }, testWithPgvectorServer);
}

/** A folder with a program, a configuration, documents and a database, as the pages take them to be. */
async function createMachine() {
  await using opening = new AsyncDisposableStack();
  const owner = `rag_owner_${randomBytes(4).toString("hex")}`;
  const database = opening.use(await createTestDatabase());
  opening.defer(async () => {
    // with what belongs to it
    await database.query(`DROP OWNED BY ${owner}; DROP ROLE ${owner}`);
  });
  await database.query(`
    CREATE EXTENSION vector;
    CREATE TABLE orders (id int);
    CREATE ROLE ${owner} LOGIN;
    GRANT CREATE ON DATABASE ${database.name} TO ${owner};
    GRANT CREATE ON SCHEMA public TO ${owner}`);
  const [toolsPort, ragPort] = [freePort(), freePort()];
  const entry = databaseEntry("main", database.name);
  const folder = opening.use(
    await createConfigFolder(`
databases: [${entry}]
http: { address: "127.0.0.1:${toolsPort}" }
server: { address: "127.0.0.1:${ragPort}" }
pipelines:
  - name: handbook
    database: ${entry.replace("name: main, ", "")}
    tables: [{ table: pages, text_column: content, vector_column: embedding, id_column: id, filter_columns: [] }]
    sources: [{ path: handbook }]
    embedding_llm: { provider: local }
    rag_llm: { provider: local }
    allow_include_sources: true
`),
  );
  const { token } = await folder.addToken();
  for (const name of ["handbook", "docs", "policies"]) {
    await Deno.mkdir(`${folder.path}/${name}`);
    for (const page of ["leave", "expenses", "shipping"]) {
      const from = new URL(`../../src/demo/handbook/${page}.md`, import.meta.url);
      await Deno.writeTextFile(
        `${folder.path}/${name}/${page}.md`,
        `${await Deno.readTextFile(from)}\n${name}\n`,
      );
    }
  }
  await Deno.writeTextFile(
    `${folder.path}/questions.jsonl`,
    '{"id": "1", "text": "How much annual leave is there?"}\n',
  );
  await Deno.writeTextFile(`${folder.path}/judgements.tsv`, "query_id\tdocument_id\tgain\n1\t1\t1\n");
  await Deno.mkdir(`${folder.path}/bin`);
  await writeProgram(`${folder.path}/bin/server`, serverScript(folder.path));
  await writeProgram(
    `${folder.path}/bin/curl`,
    `#!/bin/bash\nPATH=\${PATH#*:} exec curl --fail-with-body "$@"\n`,
  );
  opening.defer(async () => {
    const pids = await Deno.readTextFile(`${folder.path}/pids`).catch(() => "");
    for (const pid of pids.split("\n").filter(Boolean)) {
      await new Deno.Command("kill", { args: [pid], stderr: "null" }).output();
    }
  });
  const stack = opening.move();
  return {
    async run(text: string, place: string): Promise<void> {
      const script = text.replaceAll("rag_owner", owner)
        .replaceAll(/(localhost|127\.0\.0\.1):8080/g, `127.0.0.1:${toolsPort}`)
        .replaceAll(/(localhost|127\.0\.0\.1):8081/g, `127.0.0.1:${ragPort}`);
      const { code, stdout, stderr } = await new Deno.Command("bash", {
        args: ["-euo", "pipefail", "-c", script],
        cwd: folder.path,
        env: { TOKEN: token, PATH: `${folder.path}/bin:${Deno.env.get("PATH")}` },
        stdin: "null",
      }).output();
      const said = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("");
      assert.equal(code, 0, `${place}:\n${text}\n${said}`);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Runs the program. A server goes on in the background, and what asks for a password gets one. */
function serverScript(folder: string): string {
  const { command, args } = commandLine([]);
  const program = [command, ...args].map((word) => `'${word}'`).join(" ");
  return `#!/bin/bash
for argument; do
  case $argument in
    -http | -rag) serves=yes ;;
    -add-user | -update-user) exec ${program} "$@" <<<'correct horse battery' ;;
  esac
done
[ "\${serves-}" ] || exec ${program} "$@"
log=$(mktemp '${folder}/log.XXXXXX')
${program} "$@" >/dev/null 2>"$log" &
echo $! >>'${folder}/pids'
until grep -q 'listening on' "$log"; do
  kill -0 $! || { cat "$log" >&2; exit 1; }
  sleep 0.05
done
`;
}

async function writeProgram(path: string, text: string): Promise<void> {
  await Deno.writeTextFile(path, text, { mode: 0o755 });
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
