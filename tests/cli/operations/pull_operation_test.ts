import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import { filesToPull, pull, type PullOptions } from "../../../src/cli/operations/pull_operation.ts";
import { parseFlags } from "../../../src/cli/parse_flags.ts";
import { sha256 } from "../../../src/core/text/sha256.ts";
import { command } from "../../support/server_process.ts";
import { join } from "node:path";
import { temporaryFolder } from "../../support/temporary_folder.ts";
import { waitUntil } from "../../support/wait_until.ts";

const file = new Uint8Array(200_000).map((_, at) => at % 251);
const sum = sha256(file);

interface FileServer extends AsyncDisposable {
  readonly url: string;
  /** Of each request, `Range`. */
  readonly ranges: (string | null)[];
}

/** A server of one file that stops in its middle, silently, as often as it is told to. */
function serveFile(
  name: string,
  bytes: Uint8Array<ArrayBuffer>,
  { stops = 0, takesRanges = true }: { stops?: number; takesRanges?: boolean } = {},
): FileServer {
  const ranges: (string | null)[] = [];
  let left = stops;
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, ({ headers }) => {
    const range = headers.get("range");
    ranges.push(range);
    const first = takesRanges ? Number(/^bytes=(\d+)-$/.exec(range ?? "")?.[1] ?? 0) : 0;
    if (first >= bytes.length) return new Response(null, { status: 416 });
    const stopsNow = left-- > 0;
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(bytes.slice(first, stopsNow ? first + 100_000 : undefined));
        if (!stopsNow) controller.close();
      },
    });
    return new Response(body, { status: first > 0 ? 206 : 200 });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/models/${name}?download=true`,
    ranges,
    [Symbol.asyncDispose]: async () => {
      await server.shutdown();
    },
  };
}

async function pullInto(folder: string, options: Omit<PullOptions, "folder">): Promise<string[]> {
  const lines: string[] = [];
  await pull({ folder, ...options }, (line) => lines.push(line));
  return lines;
}

const namesIn = async (path: string) =>
  (await Array.fromAsync(Deno.readDir(path))).map(({ name }) => name).sort();

Deno.test("-pull that is killed leaves nothing that looks whole, and the next one goes on", async () => {
  await using folder = await temporaryFolder();
  for (const takesRanges of [true, false]) {
    const into = `${folder.path}/${takesRanges}`;
    await using server = serveFile("model.onnx", file, { stops: 1, takesRanges });
    const args = ["-pull", server.url, "-sha256", sum.toUpperCase(), "-into", into];
    const first = command(args, { stdout: "null", stderr: "null" }).spawn();
    const part = `${into}/.${sum.slice(0, 16)}.part`;
    await waitUntil(
      "half is there",
      async () => (await Deno.stat(part).catch(() => undefined))?.size === 100_000,
    );
    first.kill("SIGKILL");
    await first.status;
    assert.deepEqual(await namesIn(into), [`.${sum.slice(0, 16)}.part`]);
    const { code, stdout } = await command(args, { stderr: "inherit" }).output();
    assert.equal(code, 0);
    assert.match(new TextDecoder().decode(stdout), /model\.onnx is there, with the SHA-256 [0-9a-f]{64}\n$/);
    assert.deepEqual(server.ranges, [null, "bytes=100000-"]);
    assert.deepEqual(await namesIn(into), ["model.onnx"]);
    assert.deepEqual(await Deno.readFile(`${into}/model.onnx`), file);
  }
});

Deno.test("-pull goes on with a file that was there as a whole, and keeps one that is in its place", async () => {
  await using folder = await temporaryFolder();
  await using server = serveFile("model.onnx", file);
  await Deno.writeFile(`${folder.path}/.${sum.slice(0, 16)}.part`, file);
  await pullInto(folder.path, { url: server.url, sha256: sum });
  assert.deepEqual(await pullInto(folder.path, { url: server.url, sha256: sum }), [
    `${folder.path}/model.onnx is there already`,
  ]);
  await Deno.writeTextFile(`${folder.path}/model.onnx`, "another");
  await assert.rejects(pullInto(folder.path, { url: server.url, sha256: sum }), { code: "conflict" });
  assert.equal(await Deno.readTextFile(`${folder.path}/model.onnx`), "another");
  assert.deepEqual(server.ranges, ["bytes=200000-"]);
});

Deno.test("-pull keeps nothing of what has another sum, or is too large", async () => {
  await using folder = await temporaryFolder();
  await using server = serveFile("model.onnx", file);
  const other = "0".repeat(64);
  await assert.rejects(pullInto(folder.path, { url: server.url, sha256: other }), {
    code: "invalid",
    message: new RegExp(`SHA-256 is ${sum}, and not ${other}; nothing of it was kept`),
  });
  await assert.rejects(pullInto(folder.path, { url: server.url, sha256: sum, maxBytes: 199_999 }), {
    code: "invalid",
    message: /larger than 199999 bytes/,
  });
  assert.deepEqual(await namesIn(folder.path), []);
});

Deno.test("-pull refuses what it cannot fetch", async () => {
  const cases = [
    ["ftp://127.0.0.1/model.onnx", sum, "invalid", /expected an address with https/],
    ["all-MiniLM-L6-v2", sum, "invalid", /or all-MiniLM-L6-v2 alone/],
    ["http://127.0.0.1:1/", sum, "invalid", /no name of a file/],
    ["http://127.0.0.1:1/..%2Fmodel", sum, "invalid", /no name of a file/],
    ["http://127.0.0.1:1/model", sum.slice(1), "invalid", /64 hexadecimal digits/],
    ["http://user:secret@127.0.0.1:1/model?key=secret", sum, "unavailable", /the same command goes on/],
  ] as const;
  await using folder = await temporaryFolder();
  for (const [url, sha256, code, message] of cases) {
    await assert.rejects(pullInto(folder.path, { url, sha256 }), (error: Error & { code?: string }) => {
      assert.equal(error.code, code);
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
  }
  await using server = Deno.serve({ port: 0, onListen: () => {} }, () => new Response("", { status: 404 }));
  const url = `http://127.0.0.1:${server.addr.port}/model`;
  await assert.rejects(pullInto(folder.path, { url, sha256: sum }), { message: /the server answers 404/ });
});

Deno.test("-pull all-MiniLM-L6-v2 fetches its files from the hub, or a mirror, each with its sum", async () => {
  const files = filesToPull(parseFlags(["-pull", "all-MiniLM-L6-v2"]));
  assert.deepEqual(files.map(({ folder, sha256 }) => [folder, sha256.slice(0, 8)]), [
    ["models/all-MiniLM-L6-v2/onnx", "6fd5d72f"],
    ["models/all-MiniLM-L6-v2", "be50c362"],
    ["models/all-MiniLM-L6-v2", "acb92769"],
    ["models/all-MiniLM-L6-v2", "84e40c8e"],
    ["models/all-MiniLM-L6-v2/1_Pooling", "4be450dd"],
    ["models/all-MiniLM-L6-v2", "fc1993fd"],
  ]);
  const path = "/sentence-transformers/all-MiniLM-L6-v2/resolve/1110a243fdf4706b3f48f1d95db1a4f5529b4d41/";
  assert.equal(files[0]?.url, `https://huggingface.co${path}onnx/model.onnx`);
  assert.equal(files[4]?.url, `https://huggingface.co${path}1_Pooling/config.json`);

  const asked: string[] = [];
  await using hub = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, ({ url }) => {
    asked.push(new URL(url).pathname);
    return new Response("another model");
  });
  await using folder = await temporaryFolder();
  const env = { HF_ENDPOINT: `http://127.0.0.1:${hub.addr.port}/mirror/` };
  const args = ["-pull", "all-MiniLM-L6-v2", "-into", `${folder.path}/minilm`];
  const { code, stderr } = await command(args, { env }).output();
  assert.equal(code, 1);
  assert.match(new TextDecoder().decode(stderr), /and not 6fd5d72f\w+; nothing of it was kept/);
  assert.deepEqual(asked, [`/mirror${path}onnx/model.onnx`]);
  assert.deepEqual(await namesIn(`${folder.path}/minilm/onnx`), []);
});

const packed = (entries: Parameters<typeof packTar>[0]) => packTar(entries);

Deno.test("-pull unpacks an archive as a whole", async () => {
  await using folder = await temporaryFolder();
  const tar = await packed([
    { header: { name: "onnx/", size: 0, type: "directory" } },
    { header: { name: "onnx/model.onnx", size: file.length }, body: file },
    { header: { name: "tokenizer.json", size: 2 }, body: "{}" },
  ]);
  const archives = { "model.tar": new Uint8Array(tar), "model.tar.gz": new Uint8Array(gzipSync(tar)) };
  for (const [name, bytes] of Object.entries(archives)) {
    await using server = serveFile(name, bytes);
    const into = `${folder.path}/${name}-folder`;
    await pullInto(into, { url: server.url, sha256: sha256(bytes) });
    assert.deepEqual(await namesIn(into), ["onnx", "tokenizer.json"]);
    assert.deepEqual(await Deno.readFile(`${into}/onnx/model.onnx`), file);
    await assert.rejects(pullInto(into, { url: server.url, sha256: sha256(bytes) }), { code: "conflict" });
  }
  assert.deepEqual(await namesIn(folder.path), ["model.tar-folder", "model.tar.gz-folder"]);
});

Deno.test("-pull unpacks no archive that is broken, too large, or would write elsewhere", async () => {
  const whole = await packed([{ header: { name: "model.onnx", size: file.length }, body: file }]);
  const cases = [
    [new Uint8Array(whole.slice(0, 100_000)), {}],
    [file, {}],
    [
      new Uint8Array(
        await packed([{ header: { name: "link", size: 0, type: "symlink", linkname: "/etc" } }]),
      ),
      {},
    ],
    [new Uint8Array(await packed([{ header: { name: "../outside", size: 2 }, body: "{}" }])), {}],
    [
      new Uint8Array(
        gzipSync(await packed([{ header: { name: "zeros", size: 200_000 }, body: new Uint8Array(200_000) }])),
      ),
      { maxBytes: 100_000 },
    ],
  ] as const;
  for (const [bytes, options] of cases) {
    await using folder = await temporaryFolder();
    await using server = serveFile(bytes[0] === 0x1f ? "model.tgz" : "model.tar", bytes);
    const pulled = pullInto(`${folder.path}/model`, { url: server.url, sha256: sha256(bytes), ...options });
    await assert.rejects(pulled, { code: "invalid", message: /cannot unpack it/ });
    assert.deepEqual(await namesIn(folder.path), [`.${sha256(bytes).slice(0, 16)}.part`]);
  }
});

Deno.test("-pull follows no link where what it has fetched would be", async () => {
  await using folder = await temporaryFolder();
  const other = join(folder.path, "other");
  await Deno.writeTextFile(other, "kept");
  await Deno.symlink(other, join(folder.path, `.${sum.slice(0, 16)}.part`));
  await assert.rejects(pullInto(folder.path, { url: "http://127.0.0.1:1/model", sha256: sum }), {
    code: "conflict",
    message: /\.part is no file; remove it/,
  });
  assert.equal(await Deno.readTextFile(other), "kept");
});
