import assert from "node:assert/strict";
import { startServer } from "../support/server_process.ts";
import { testWithPrograms } from "../support/programs.ts";

testWithPrograms(["curl"], "the demo's own lines, pasted into another terminal, work", async (t) => {
  const folder = await Deno.makeTempDir();
  await using server = await startServer(["-demo", "-http", "-addr", "127.0.0.1:0"], {
    cwd: folder,
    env: { PATH: Deno.env.get("PATH") ?? "" },
  });
  while (!server.stdout().includes("Ctrl+C")) await new Promise((resolve) => setTimeout(resolve, 20));
  const lines = server.stdout().split("\n");
  const token = lines.find((line) => line.startsWith("export POSTERN_TOKEN=pst_"));
  assert.ok(token);
  const curls = lines.filter((line) => line.startsWith("curl "));

  async function paste(line: string | undefined) {
    const { stdout } = await new Deno.Command("bash", { args: ["-c", `${token}\n${line}`] }).output();
    return JSON.parse(new TextDecoder().decode(stdout)).result;
  }

  await t.step("list the tools", async () => {
    assert.ok((await paste(curls[0])).tools.some((tool: { name: string }) => tool.name === "query_database"));
  });

  await t.step("run SQL", async () => {
    const { structuredContent } = await paste(curls[1]);
    assert.ok(structuredContent.row_count >= 3);
    const counts = structuredContent.rows.map((row: [string, number]) => row[1]);
    assert.deepEqual(counts, counts.toSorted((a: number, b: number) => b - a));
  });

  await t.step("how many orders were placed last month", async () => {
    const { structuredContent } = await paste(curls[2]);
    assert.ok(structuredContent.rows[0][0] > 0);
  });

  await t.step("show the ten most expensive products", async () => {
    const { structuredContent } = await paste(curls[3]);
    assert.equal(structuredContent.row_count, 10);
    const column = structuredContent.columns.findIndex((column: { name: string }) => column.name === "price");
    const prices = structuredContent.rows.map((row: unknown[]) => Number(row[column]));
    assert.deepEqual(prices, prices.toSorted((a: number, b: number) => b - a));
  });

  await t.step("what nobody wrote down names three questions that can be asked", async () => {
    const { isError, content: [{ text }] } = await paste(curls[4]);
    assert.equal(isError, true);
    const [, askable = ""] = /Questions that can be asked in these words: (.*)/.exec(text) ?? [];
    const texts = askable.split("; ");
    assert.equal(texts.length, 3);
    for (const question of texts) {
      const line = curls[2]?.replace(
        "how many orders were placed last month",
        JSON.stringify(question).slice(1, -1).replaceAll("'", "'\\''"),
      );
      assert.equal((await paste(line)).isError, undefined, question);
    }
  });

  await t.step("a statement that would write is refused, whoever asks", async () => {
    const line = curls[1]?.replace(/SELECT status[^"]*/, "DELETE FROM orders");
    assert.equal((await paste(line)).isError, true);
  });

  await t.step("a statement that never ends is stopped and the demo goes on", async () => {
    const line = curls[1]?.replace(
      /SELECT status[^"]*/,
      "SELECT count(*) FROM generate_series(1, 100000000000)",
    );
    assert.match((await paste(`${line} -m 2 || true; ${curls[2]}`)).content[0].text, /Results \(1 row\)/);
  });

  assert.equal(await server.stop(), 0);
  await Deno.remove(folder, { recursive: true });
});
