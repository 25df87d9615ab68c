import assert from "node:assert/strict";
import { join } from "node:path";
import { openS3Source, type S3Settings } from "../../../../src/rag_server/ingest/sources/s3_source.ts";
import { testWithPgvector } from "../../../support/database.ts";
import { temporaryFolder } from "../../../support/temporary_folder.ts";
import { countsOf, createIngestFixture } from "../ingest_fixture.ts";

interface StoredObject {
  text: string;
  etag: string;
}

/** A server with S3's interface: two objects to a page of a list. `fault` answers in its place. */
function startBucketServer() {
  const objects = new Map<string, StoredObject>();
  const asked: { url: string; headers: Headers }[] = [];
  const state: { fault?: (request: Request) => Response | undefined } = {};
  const escaped = (text: string) =>
    text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    asked.push({ url: request.url, headers: new Headers(request.headers) });
    const given = state.fault?.(request);
    if (given !== undefined) return given;
    const url = new URL(request.url);
    if (url.searchParams.get("list-type") !== "2") {
      const object = objects.get(decodeURIComponent(url.pathname.replace("/docs/", "")));
      if (object === undefined) return new Response("<Error><Code>NoSuchKey</Code></Error>", { status: 404 });
      return new Response(object.text, { headers: { etag: object.etag } });
    }
    const prefix = url.searchParams.get("prefix") ?? "";
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix)).sort();
    const at = Number(url.searchParams.get("continuation-token")?.split("+/=")[1] ?? 0);
    const entries = keys.slice(at, at + 2).map((key) => {
      const { text, etag } = objects.get(key) ?? { text: "", etag: "" };
      const size = new TextEncoder().encode(text).length;
      return `<Contents><Key>${escaped(key)}</Key><ETag>${
        escaped(etag)
      }</ETag><Size>${size}</Size></Contents>`;
    });
    const isCut = at + 2 < keys.length;
    const next = isCut ? `<NextContinuationToken>token+/=${at + 2}</NextContinuationToken>` : "";
    return new Response(
      `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">` +
        `<IsTruncated>${isCut}</IsTruncated>${next}${entries.join("")}</ListBucketResult>\n`,
    );
  });
  const endpoint = `http://127.0.0.1:${server.addr.port}`;
  return {
    objects,
    asked,
    state,
    put: (key: string, text: string) =>
      objects.set(key, { text, etag: `"${text.length}-${text.replaceAll(/\W/g, "")}"` }),
    source: (changes: Partial<S3Settings> = {}) => ({
      paths: [],
      configured: [{
        name: "bucket",
        path: `${endpoint}/docs`,
        remote: openS3Source({ bucket: "docs", endpoint, ...changes }),
      }],
    }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const keys = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "s3cret-key", sessionToken: "session" };

testWithPgvector("a bucket's objects are ingested, and read again only where they have changed", async () => {
  await using fixture = await createIngestFixture();
  await using server = startBucketServer();
  const { put, objects, asked } = server;
  put("manuals/a b+c (1)&é.md", "# Leave\n\nThirty days of leave.");
  put("manuals/deep/b.txt", "Parking is free.");
  put("manuals/c.md", "# Phones\n\nPhones are cheap.");
  put("manuals/folder/", "");
  put("manuals/empty.md", "");
  put("manuals/logo.png", "PNG");
  put("other.md", "Not asked for.");
  const source = server.source({ prefix: "manuals/", keys });
  const first = await fixture.ingest(source);
  assert.deepEqual(first.failed, []);
  assert.deepEqual(countsOf(first), { added: 3, changed: 0, unchanged: 0, removed: 0, chunksWritten: 3 });
  assert.deepEqual(first.skipped.map(({ path }) => path), ["empty.md", "logo.png"]);
  assert.deepEqual(await fixture.column("SELECT source FROM docs ORDER BY 1"), [
    "a b+c (1)&é.md",
    "c.md",
    "deep/b.txt",
  ]);
  for (const { headers } of asked) {
    assert.match(
      headers.get("authorization") ?? "",
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/us-east-1\/s3\/aws4_request, SignedHeaders=/,
    );
    assert.equal(headers.get("x-amz-security-token"), "session");
  }

  asked.length = 0;
  put("manuals/c.md", "# Phones\n\nPhones are dear.");
  const moved = objects.get("manuals/deep/b.txt");
  assert.ok(moved !== undefined);
  objects.delete("manuals/deep/b.txt");
  objects.set("manuals/b.txt", moved);
  assert.deepEqual(countsOf(await fixture.ingest(source)), {
    added: 0,
    changed: 2,
    unchanged: 1,
    removed: 0,
    chunksWritten: 1,
  });
  assert.deepEqual(
    asked.map(({ url }) => new URL(url).pathname).filter((path) => path !== "/docs/"),
    ["/docs/manuals/b.txt", "/docs/manuals/c.md"],
  );
});

Deno.test("objects are read as the encoding that the server names, but for PDFs and e-mail", async () => {
  await using server = startBucketServer();
  const { put, state, source } = server;
  const cyrillic = Uint8Array.from([0xd3, 0xf1, 0xf2, 0xe0, 0xe2]);
  const pdf = new Uint8Array([...new TextEncoder().encode("%PDF-"), ...cyrillic]);
  for (const key of ["a.txt", "b.eml", "c.pdf"]) put(key, key);
  state.fault = (request) => {
    const { pathname, search } = new URL(request.url);
    if (search !== "") return undefined;
    return new Response(pathname.endsWith(".pdf") ? pdf : cyrillic, {
      headers: { etag: '"1"', "content-type": "text/plain; charset=windows-1251" },
    });
  };
  const { signal } = new AbortController();
  const files = await source().configured[0]?.remote.list(signal) ?? [];
  const bytes = [];
  for (const file of files) {
    const read = await file.read(undefined, 1_000, signal);
    assert.ok(typeof read === "object" && "bytes" in read, file.path);
    bytes.push(read.bytes);
  }
  assert.deepEqual(bytes, [new TextEncoder().encode("Устав"), cyrillic, pdf]);
});

testWithPgvector("a list that is not whole removes no rows, and a failed object keeps them", async (t) => {
  await using fixture = await createIngestFixture();
  await using server = startBucketServer();
  const { put, state } = server;
  for (const name of ["a", "b", "c"]) put(`${name}.md`, `The text of ${name}.`);
  assert.equal((await fixture.ingest(server.source())).added, 3);
  const isSecond = ({ url }: Request) => url.includes("continuation-token");
  const list = (body: string) => new Response(`<ListBucketResult>${body}`);
  const cases: Record<string, [(request: Request) => Response | undefined, RegExp]> = {
    "an error on the second page": [
      (request) =>
        isSecond(request)
          ? new Response("<Error><Code>AccessDenied</Code></Error>", { status: 403 })
          : undefined,
      /the server answers 403 \(AccessDenied\)/,
    ],
    "half a page": [
      () => list("<IsTruncated>false</IsTruncated><Contents><Key>a.md</Key>"),
      /list is not whole/,
    ],
    "no token": [() => list("<IsTruncated>true</IsTruncated></ListBucketResult>"), /list is not whole/],
    "the same token again": [
      () =>
        list(
          "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken></ListBucketResult>",
        ),
      /list is not whole/,
    ],
    "an object without a mark": [
      () => list("<Contents><Key>a.md</Key><Size>3</Size></Contents></ListBucketResult>"),
      /list is not whole/,
    ],
    "an empty bucket": [() => list("<IsTruncated>false</IsTruncated></ListBucketResult>"), /it has no files/],
    "another region": [
      () => new Response("", { status: 301, headers: { location: "http://169.254.169.254/" } }),
      /the server answers 301/,
    ],
  };
  for (const [name, [fault, reason]] of Object.entries(cases)) {
    await t.step(name, async () => {
      state.fault = fault;
      const { removed, refusals } = await fixture.ingest(server.source({ keys }));
      assert.equal(removed, 0);
      assert.match(refusals.join(), reason);
      assert.ok(!refusals.join().includes(keys.secretAccessKey));
    });
  }
  await t.step("an object that fails", async () => {
    put("a.md", "Another text of a.");
    state.fault = ({ url }) =>
      url.endsWith("a.md") ? new Response("", { status: 503, headers: { "retry-after": "0" } }) : undefined;
    const { failed, removed } = await fixture.ingest(server.source());
    assert.deepEqual([removed, failed], [0, [{ path: "a.md", reason: "the server answers 503" }]]);
  });
  assert.equal(await fixture.value("SELECT count(*) FROM docs"), "3");
});

Deno.test("openS3Source() signs with the key in a file before that of the environment, and not without one", async () => {
  await using folder = await temporaryFolder();
  await using server = startBucketServer();
  const file = join(folder.path, "secret");
  await Deno.writeTextFile(file, "another-secret\n");
  const { signal } = new AbortController();
  const list = async (settings: Partial<S3Settings>) => {
    server.put("a.md", "text");
    await server.source(settings).configured[0]?.remote.list(signal);
    return server.asked.at(-1)?.headers.get("authorization") ?? "";
  };
  assert.match(await list({ access_key_id: "OWN", secret_key_file: file, keys }), /Credential=OWN\//);
  assert.match(await list({ region: "eu-central-1", keys }), /Credential=AKIDEXAMPLE\/\d{8}\/eu-central-1\//);
  assert.equal(await list({}), "");
  await Deno.writeTextFile(file, "\n");
  await assert.rejects(
    list({ access_key_id: "OWN", secret_key_file: file }),
    /Cannot use the secret key in .*empty/,
  );
});

Deno.test("a bucket of another region, and the page of a console, are told of in a sentence", async () => {
  await using server = startBucketServer();
  const refusedWith = async (
    body: string,
    status: number,
    headers: Record<string, string>,
    message: string,
  ) => {
    server.state.fault = () => new Response(body, { status, headers });
    const [source] = server.source().configured;
    await assert.rejects(async () => await source?.remote.list(AbortSignal.timeout(10_000)), { message });
  };
  const elsewhere = "the bucket is in region eu-central-1, not us-east-1; set region to eu-central-1";
  const moved = "<Error><Code>PermanentRedirect</Code><Region>eu-central-1</Region></Error>";
  await refusedWith(moved, 301, {}, elsewhere);
  await refusedWith("", 307, { "x-amz-bucket-region": "eu-central-1" }, elsewhere);
  await refusedWith("", 301, { "x-amz-bucket-region": "a b" }, "the server answers 301");
  await refusedWith("", 307, { "x-amz-bucket-region": "us-east-1" }, "the server answers 307");
  const page =
    "a web page answers, as of a console; set endpoint to the address of the server's S3 interface";
  for (const status of [200, 404]) {
    await refusedWith("<html>Log in</html>", status, { "content-type": "text/html; charset=utf-8" }, page);
  }
  await refusedWith("<html>", 501, { "content-type": "text/html" }, "the server answers 501");
});
