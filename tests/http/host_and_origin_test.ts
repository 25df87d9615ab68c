import assert from "node:assert/strict";
import { createHostAndOriginCheck } from "../../src/http/host_and_origin.ts";

interface Case {
  title: string;
  listening?: string;
  authenticated?: boolean;
  allowedHosts?: string[];
  allowedOrigins?: string[];
  host: string;
  origin?: string;
  passes: boolean;
}

const cases: Case[] = [
  { title: "loopback, its own address", host: "127.0.0.1:8080", passes: true },
  { title: "loopback, localhost on any port", host: "localhost:9999", passes: true },
  { title: "loopback, IPv6", host: "[::1]:8080", passes: true },
  { title: "loopback, a rebound name", host: "evil.example:8080", passes: false },
  { title: "loopback, a name that starts like one", host: "localhost.evil.example", passes: false },
  { title: "loopback, a name with userinfo", host: "localhost@evil.example", passes: false },
  { title: "loopback, an empty Host", host: "", passes: false },
  {
    title: "loopback, an allowed host",
    allowedHosts: ["db.internal"],
    host: "db.internal:8080",
    passes: true,
  },
  {
    title: "loopback, an allowed host and port",
    allowedHosts: ["db.internal:8080"],
    host: "DB.internal:8080",
    passes: true,
  },
  {
    title: "an allowed port does not allow others",
    allowedHosts: ["db.internal:1"],
    host: "db.internal:2",
    passes: false,
  },
  {
    title: "all interfaces with authentication",
    listening: "",
    host: "anything.example",
    passes: true,
  },
  {
    title: "all interfaces without",
    listening: "",
    authenticated: false,
    host: "anything.example",
    passes: false,
  },
  {
    title: "all interfaces with a list",
    listening: "",
    allowedHosts: ["a.example"],
    host: "b.example",
    passes: false,
  },
  { title: "its own origin", host: "localhost:8080", origin: "http://localhost:8080", passes: true },
  {
    title: "an origin on another port",
    host: "localhost:8080",
    origin: "http://localhost:3000",
    passes: false,
  },
  {
    title: "a foreign origin",
    listening: "",
    host: "a.example",
    origin: "https://evil.example",
    passes: false,
  },
  { title: "an opaque origin", host: "localhost:8080", origin: "null", passes: false },
  {
    title: "an allowed origin",
    host: "localhost:8080",
    allowedOrigins: ["https://chat.example/"],
    origin: "https://chat.example",
    passes: true,
  },
];

for (
  const { title, listening = "127.0.0.1", authenticated = true, host, origin, passes, ...lists } of cases
) {
  Deno.test(`Host and Origin: ${title} ${passes ? "passes" : "is refused"}`, () => {
    const check = createHostAndOriginCheck({
      address: { host: listening, port: 8080 },
      authenticated,
      allowedHosts: lists.allowedHosts ?? [],
      allowedOrigins: lists.allowedOrigins ?? [],
    });
    const headers = new Headers({ host, ...(origin === undefined ? {} : { origin }) });
    assert.equal(check(new Request("http://unused.example/", { headers })) === undefined, passes);
  });
}

Deno.test("Host and Origin: without a Host header the URL's authority counts, as in HTTP/2", () => {
  const options = { authenticated: true, allowedHosts: [], allowedOrigins: [] };
  const check = createHostAndOriginCheck({ ...options, address: { host: "127.0.0.1", port: 8443 } });
  assert.equal(check(new Request("https://localhost:8443/mcp/v1")), undefined);
  assert.notEqual(check(new Request("https://evil.example:8443/mcp/v1")), undefined);
});
