import assert from "node:assert/strict";
import fc from "fast-check";
import { type ClientAddressOptions, createClientAddress } from "../../src/http/client_address.ts";

type Header = NonNullable<ClientAddressOptions["header"]>;

const trustedProxies = ["10.0.0.0/8", "2001:db8:ffff::/48"];

function clientOf(header: Header, peer: string, ...values: string[]): string {
  const headers = new Headers();
  for (const value of values) headers.append(header, value);
  return createClientAddress({ header, trustedProxies })(peer, headers);
}

const proxy = "10.0.0.1";
type Row = [expected: string, peer: string, ...values: string[]];

const tables: Record<Header, Row[]> = {
  "X-Forwarded-For": [
    // who may speak
    [proxy, proxy],
    ["192.0.2.1", proxy, "192.0.2.1"],
    ["203.0.113.9", "203.0.113.9", "192.0.2.1"],
    ["203.0.113.9", "::ffff:203.0.113.9", "192.0.2.1"],
    ["192.0.2.1", "::ffff:10.0.0.1", "192.0.2.1"],
    ["192.0.2.1", "2001:db8:ffff::1", "192.0.2.1"],
    ["2001:db8::1", "2001:DB8::1", "192.0.2.1"],
    // chains
    ["192.0.2.1", proxy, "192.0.2.1, 10.0.0.2"],
    ["192.0.2.1", proxy, "192.0.2.1, 10.0.0.3, 10.0.0.2"],
    ["192.0.2.1", proxy, "192.0.2.1, 2001:db8:ffff::2, 10.0.0.2"],
    ["192.0.2.1", proxy, "192.0.2.1,10.0.0.2"],
    ["192.0.2.1", proxy, "\t192.0.2.1 ,  10.0.0.2 "],
    ["192.0.2.1", proxy, "192.0.2.1", "10.0.0.2"],
    ["192.0.2.1", proxy, "192.0.2.1, , 10.0.0.2,"],
    ["10.0.0.9", proxy, "10.0.0.9"],
    ["10.0.0.9", proxy, "10.0.0.9, 10.0.0.2"],
    // spoofed left ends
    ["192.0.2.1", proxy, "6.6.6.6, 192.0.2.1"],
    ["192.0.2.1", proxy, "6.6.6.6, 192.0.2.1, 10.0.0.2"],
    ["192.0.2.1", proxy, "10.0.0.5, 192.0.2.1, 10.0.0.2"],
    ["192.0.2.1", proxy, "6.6.6.6", "192.0.2.1"],
    ["192.0.2.1", proxy, 'x", 192.0.2.1'],
    ["192.0.2.1", proxy, "garbage, 192.0.2.1"],
    ["192.0.2.1", proxy, "6.6.6.6, 10.0.0.7, 192.0.2.1, 10.0.0.2"],
    // what is no address
    [proxy, proxy, "garbage"],
    [proxy, proxy, "6.6.6.6, garbage"],
    [proxy, proxy, "6.6.6.6, garbage, 10.0.0.2"],
    [proxy, proxy, "unknown"],
    [proxy, proxy, "6.6.6.6 10.0.0.2"],
    [proxy, proxy, "6.6.6.6; 10.0.0.2"],
    [proxy, proxy, ","],
    [proxy, proxy, ""],
    [proxy, proxy, "192.0.2.256"],
    [proxy, proxy, "192.0.2.01"],
    [proxy, proxy, "3221225985"],
    [proxy, proxy, "0xc0.0.2.1"],
    [proxy, proxy, "192.0.2.0/24"],
    [proxy, proxy, "<script>"],
    [proxy, proxy, "a".repeat(10_000)],
    // forms of an address
    ["192.0.2.1", proxy, "192.0.2.1:5678"],
    ["192.0.2.1", proxy, "192.0.2.1:5678, 10.0.0.2:443"],
    [proxy, proxy, "192.0.2.1:99999"],
    [proxy, proxy, "192.0.2.1:"],
    [proxy, proxy, "192.0.2.1:http"],
    ["192.0.2.1", proxy, "::ffff:192.0.2.1"],
    ["192.0.2.1", proxy, "[::ffff:192.0.2.1]:80"],
    ["192.0.2.1", proxy, "192.0.2.1, ::ffff:10.0.0.2"],
    ["2001:db8::1", proxy, "2001:db8::1"],
    ["2001:db8::1", proxy, "2001:0DB8:0:0:0:0:0:1"],
    ["2001:db8::1", proxy, "[2001:db8::1]"],
    ["2001:db8::1", proxy, "[2001:db8::1]:80"],
    ["2001:db8::1:80", proxy, "2001:db8::1:80"],
    ["1:2:3:4:5:6:102:304", proxy, "1:2:3:4:5:6:1.2.3.4"],
    ["fe80::1", proxy, "fe80::1%eth0"],
    ["fe80::1", proxy, "[fe80::1%25eth0]:80"],
    ["::1", proxy, "::1"],
    [proxy, proxy, "[2001:db8::1"],
    [proxy, proxy, "2001:db8::1]"],
    [proxy, proxy, "[192.0.2.1]"],
    [proxy, proxy, "[2001:db8::1]80"],
    // a peer without an address, as on a socket of another kind
    ["", "", "192.0.2.1"],
  ],
  "Forwarded": [
    ["192.0.2.60", proxy, "for=192.0.2.60;proto=http;by=203.0.113.43"],
    ["192.0.2.60", proxy, "proto=http; For=192.0.2.60"],
    ["192.0.2.60", proxy, 'FOR="192.0.2.60"'],
    ["192.0.2.43", proxy, 'for="192.0.2.43:47011"'],
    ["192.0.2.43", proxy, "for=192.0.2.43:47011"],
    ["192.0.2.43", proxy, 'for="192.0.2.43:_port"'],
    ["2001:db8:cafe::17", proxy, 'for="[2001:db8:cafe::17]:4711"'],
    ["2001:db8:cafe::17", proxy, 'For="[2001:DB8:cafe::17]"'],
    ["2001:db8:cafe::17", proxy, "for=[2001:db8:cafe::17]"],
    ["192.0.2.60", proxy, 'for="192.0.2.6\\0"'],
    ["192.0.2.43", proxy, "for=192.0.2.43, for=10.0.0.2"],
    ["192.0.2.43", proxy, "for=192.0.2.43", 'for="10.0.0.2:443";by=10.0.0.1'],
    ["192.0.2.43", proxy, 'for=192.0.2.43;host="a,b;for=6.6.6.6", for=10.0.0.2'],
    ["192.0.2.43", proxy, 'for=192.0.2.43;host="a\\",b"'],
    ["192.0.2.43", proxy, 'for=192.0.2.43;host="a,\\"b"'],
    ["192.0.2.43", proxy, 'for=6.6.6.6, for=192.0.2.43;host="a,\\\\", for=10.0.0.2'],
    ["192.0.2.43", proxy, ' for=192.0.2.43 ; proto=https , , for="10.0.0.2"'],
    ["192.0.2.43", proxy, "for=192.0.2.43;"],
    ["203.0.113.9", "203.0.113.9", "for=192.0.2.60"],
    // spoofed left ends
    ["192.0.2.43", proxy, "for=6.6.6.6, for=192.0.2.43"],
    ["192.0.2.43", proxy, 'for=6.6.6.6;x=", for=192.0.2.43'],
    ["192.0.2.43", proxy, 'for=6.6.6.6;x="\\, for=192.0.2.43'],
    ["2001:db8:cafe::17", proxy, 'for=6.6.6.6;x=", for="[2001:db8:cafe::17]"'],
    ["192.0.2.43", proxy, 'for="10.0.0.2", for=6.6.6.6;x=", for=192.0.2.43;by="10.0.0.1", for=10.0.0.3'],
    ["192.0.2.43", proxy, '"""",,;;==, for=192.0.2.43'],
    // what is no address
    [proxy, proxy, "for=unknown"],
    [proxy, proxy, "for=_hidden, for=10.0.0.2"],
    [proxy, proxy, 'for="_SEVKISEK"'],
    [proxy, proxy, "for=6.6.6.6, for=_hidden, for=10.0.0.2"],
    [proxy, proxy, "for=6.6.6.6, proto=https"],
    [proxy, proxy, "for=6.6.6.6;for=192.0.2.43"],
    [proxy, proxy, "for=6.6.6.6;FOR=192.0.2.43"],
    [proxy, proxy, "for = 192.0.2.43"],
    [proxy, proxy, "for=192.0.2.43 proto=https"],
    [proxy, proxy, 'for="192.0.2.43'],
    [proxy, proxy, "for="],
    [proxy, proxy, 'for=""'],
    [proxy, proxy, "192.0.2.43"],
    [proxy, proxy, "xfor=192.0.2.43"],
  ],
  "X-Real-IP": [
    ["192.0.2.1", proxy, "192.0.2.1"],
    ["10.0.0.9", proxy, "10.0.0.9"],
    ["2001:db8::1", proxy, " [2001:db8::1]:80 "],
    ["192.0.2.1", proxy, "6.6.6.6", "192.0.2.1"],
    ["10.0.0.9", proxy, "6.6.6.6, 10.0.0.9"],
    [proxy, proxy, "6.6.6.6, garbage"],
    [proxy, proxy, "garbage"],
    [proxy, proxy],
    ["203.0.113.9", "203.0.113.9", "192.0.2.1"],
  ],
};
for (const [header, rows] of Object.entries(tables) as [Header, Row[]][]) {
  for (const [expected, peer, ...values] of rows) {
    const shown = values.map((value) => value.length > 100 ? `${value.slice(0, 20)}…` : value);
    Deno.test(`client of ${peer} with ${header} ${JSON.stringify(shown)} is ${expected}`, () => {
      assert.equal(clientOf(header, peer, ...values), expected);
    });
  }
}

Deno.test("without a header in the configuration, and without trusted proxies, the peer is the client", () => {
  const headers = new Headers({
    "X-Forwarded-For": "192.0.2.1",
    "Forwarded": "for=192.0.2.1",
    "X-Real-IP": "192.0.2.1",
  });
  assert.equal(createClientAddress({ trustedProxies })(proxy, headers), proxy);
  assert.equal(createClientAddress({ header: "Forwarded", trustedProxies: [] })(proxy, headers), proxy);
});

Deno.test("only the configured header is read", () => {
  const headers = new Headers({ "X-Forwarded-For": "6.6.6.6", "X-Real-IP": "192.0.2.1" });
  assert.equal(createClientAddress({ header: "X-Real-IP", trustedProxies })(proxy, headers), "192.0.2.1");
  assert.equal(createClientAddress({ header: "Forwarded", trustedProxies })(proxy, headers), proxy);
});

Deno.test("a trusted proxy that is no address block is named", () => {
  assert.throws(() => createClientAddress({ trustedProxies: ["10.0.0.0/8", "proxy.local"] }), {
    code: "invalid",
    message: /"proxy\.local"/,
  });
});

Deno.test("thousands of entries are read no further than needed, and a chain without end counts as the peer", () => {
  const many = (entry: string) => `${entry}, `.repeat(50_000);
  assert.equal(clientOf("X-Forwarded-For", proxy, `${many("6.6.6.6")}192.0.2.1`), "192.0.2.1");
  assert.equal(clientOf("X-Forwarded-For", proxy, `6.6.6.6, ${many("10.0.0.2")}`), proxy);
  assert.equal(clientOf("X-Forwarded-For", proxy, `${many("")}192.0.2.1`), "192.0.2.1");
  assert.equal(clientOf("Forwarded", proxy, `${many("for=6.6.6.6")}for=192.0.2.1`), "192.0.2.1");
  assert.equal(clientOf("Forwarded", proxy, `for=6.6.6.6, ${many("for=10.0.0.2")}`), proxy);
});

Deno.test("texts made to be slow are not", () => {
  for (
    const part of [
      "\\",
      '"',
      '\\"',
      "a=b;",
      ";",
      " ",
      "\t;",
      "for=",
      "[",
      ":",
      "1.",
      "for=a;",
      'a="b";',
      "::",
    ]
  ) {
    const text = part.repeat(200_000 / part.length);
    for (const value of [text, `"${text}`, `for=${text}`, `for="${text}"`, `${text}"`, `for=${text}x`]) {
      for (const header of ["Forwarded", "X-Forwarded-For"] as const) clientOf(header, proxy, value);
    }
  }
});

/** One hop of a chain, as a proxy to its right would write it. */
interface Hop {
  text: string;
  address: string | undefined;
  trusted: boolean;
}

const trusted = fc.constantFrom("10.0.0.2", "10.1.2.3", "2001:db8:ffff::7").map((address): Hop => ({
  text: address,
  address,
  trusted: true,
}));
const untrusted = fc.oneof(
  fc.ipV4().filter((text) => !text.startsWith("10.")),
  fc.constantFrom("2001:db8::7", "::1"),
)
  .map((address): Hop => ({ text: address, address, trusted: false }));
const nobody = fc.constantFrom("unknown", "_hidden", "garbage", "1.2.3", "::ffff:1.2.3.4.5")
  .map((text): Hop => ({ text, address: undefined, trusted: false }));
const chain = fc.array(fc.oneof({ weight: 3, arbitrary: trusted }, untrusted, nobody), { maxLength: 8 });

const writers: Record<Exclude<Header, "X-Real-IP">, (hop: Hop) => string> = {
  "X-Forwarded-For": ({ text }) => text.includes(":") ? `[${text}]:80` : text,
  "Forwarded": ({ text }) => text.includes(":") ? `proto=http;for="[${text}]:80"` : `for="${text}";by=_p`,
};

for (const [header, write] of Object.entries(writers) as [keyof typeof writers, (hop: Hop) => string][]) {
  // what the client itself sends; a proxy adds its own element after it
  const sent = fc.string({ unit: fc.constantFrom(...'for=,;"\\ 6.:[]_x'), maxLength: 40 });
  Deno.test(`property: the client in ${header} is never to the left of a hop that is not trusted`, () => {
    fc.assert(
      fc.property(sent, chain, (sent, hops) => {
        const firstUntrusted = hops.findLast((hop) => !hop.trusted);
        // where all are trusted, what they were sent is part of the chain
        fc.pre(firstUntrusted !== undefined);
        const value = [sent, ...hops.map(write)].join(", ");
        assert.equal(clientOf(header, proxy, value), firstUntrusted?.address ?? proxy);
      }),
      { numRuns: 1000 },
    );
  });
}
