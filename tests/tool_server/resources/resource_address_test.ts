import assert from "node:assert/strict";
import fc from "fast-check";
import { formatAddress, parseAddress } from "../../../src/tool_server/resources/resource_address.ts";

Deno.test("formatAddress() encodes all but the unreserved characters of RFC 3986", () => {
  const database = "a b/c%d\"e'f(g)!*~._-Z9";
  assert.equal(
    formatAddress({ kind: "schema", database }),
    "pg://a%20b%2Fc%25d%22e%27f%28g%29%21%2A~._-Z9/schema",
  );
  assert.equal(
    formatAddress({ kind: "table", database: "schema", schema: "schema", table: "Käse 🧀" }),
    "pg://schema/schema/K%C3%A4se%20%F0%9F%A7%80",
  );
  assert.equal(formatAddress({ kind: "system_info" }), "pg://system_info");
});

Deno.test("parseAddress() gives back what formatAddress() got, whatever the names", () => {
  const name = fc.string({ unit: "binary", minLength: 1, maxLength: 63 }).filter((text) =>
    !text.includes("\0")
  );
  fc.assert(fc.property(name, name, name, (database, schema, table) => {
    for (
      const address of [{ kind: "schema", database }, { kind: "table", database, schema, table }] as const
    ) {
      assert.deepEqual(parseAddress(formatAddress(address)), address);
    }
  }));
  for (
    const name of ["schema", "system_info", "..", ".", "a/b", "%2F", "50%", "?#&=+", "{table}", " ", "\n"]
  ) {
    const address = { kind: "table", database: name, schema: name, table: name } as const;
    assert.deepEqual(parseAddress(formatAddress(address)), address);
  }
});

Deno.test("parseAddress() takes characters that need not have been encoded", () => {
  const table = { kind: "table", database: "main", schema: "public", table: "Käse's (old)" };
  assert.deepEqual(parseAddress("pg://main/public/Käse's (old)"), table);
  assert.deepEqual(parseAddress("PG://system_info"), { kind: "system_info" });
});

Deno.test("parseAddress() knows no other addresses", () => {
  for (
    const uri of [
      "",
      "pg:",
      "pg://",
      "pg:///schema",
      "pg://other",
      "pg://main/schema/",
      "pg://main/public",
      "pg://main/public/orders/id",
      "pg://main//orders",
      "pg://main/public/%zz",
      "pg://main/public/a%00b",
      "pg://main/public/orders?x=1",
      "pg://main/public/orders#x",
      "postgres://main/schema",
      " pg://system_info",
      `pg://main/public/${"x".repeat(5_000)}`,
    ]
  ) assert.equal(parseAddress(uri), undefined, uri.slice(0, 100));
});
