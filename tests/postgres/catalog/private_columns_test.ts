import assert from "node:assert/strict";
import {
  createColumnPatterns,
  createColumnRefusal,
  withoutListedValues,
} from "../../../src/postgres/catalog/private_columns.ts";
import { buildCatalog, buildCatalogColumn } from "../../tool_server/questions/build_catalog.ts";

/** Without any pattern of an administrator's. */
const isPrivateName = (column: string) => createColumnRefusal([])({ schema: "shop", name: "deals" }, column);

const privateNames = [
  ...[
    "password",
    "Password",
    "password_hash",
    "user_email",
    "emails",
    "homePhone2",
    "SSN",
    "ssn4",
    "api_key",
  ],
  ...["access_tokens", "birth_date", "dateOfBirth", "billing_address", "addresses", "address1", "first_name"],
  ...["customer-name", "ip", "postal code"],
];
const openNames = [
  ...[
    "status",
    "kind",
    "secretary",
    "tokenizer_kind",
    "mailing_list_kind_x",
    "name",
    "product_name",
    "shipping",
  ],
  ...["account_type", "addressed", "keys", "card_type", ""],
];

Deno.test("createColumnRefusal() knows private words, in any spelling, and only whole ones", () => {
  assert.deepEqual(privateNames.filter((name) => !isPrivateName(name)), []);
  assert.deepEqual(openNames.filter((name) => isPrivateName(name)), []);
});

const patterns: readonly (readonly [pattern: string, isRefused: boolean])[] = [
  ["kind", true],
  ["KIND", true],
  ["k*d", true],
  ["k", false],
  ["*ind*", true],
  ["deals.kind", true],
  ["deals.*", true],
  ["d*.kind", true],
  ["other.kind", false],
  ["shop.deals.kind", true],
  ["shop.*.*", true],
  ["s*p.deals.k*", true],
  ["other.deals.kind", false],
  ["(kind|x)", false],
  ["", false],
];
for (const [pattern, isRefused] of patterns) {
  Deno.test(`the pattern "${pattern}" ${isRefused ? "excludes" : "does not exclude"} shop.deals.kind`, () => {
    assert.equal(createColumnRefusal([pattern])({ schema: "shop", name: "deals" }, "kind"), isRefused);
  });
}

Deno.test("createColumnRefusal() sees through names in one word, and in other languages", () => {
  for (
    const name of [
      "HOMEPHONE",
      "useremail",
      "EMAILADDR",
      "dateofbirth",
      "accesstoken",
      "pwhash",
      "patient_name",
      "customername",
      "ssnumber",
      "medication",
      "gender",
      "Geburtsdatum",
      "straße_strasse",
      "teléfono_telefon",
    ]
  ) assert.ok(isPrivateName(name), name);
  for (const name of ["status", "product_name", "category", "country"]) assert.ok(!isPrivateName(name), name);
});

Deno.test("withoutListedValues() hides what constraints list for excluded columns, and nothing of others", () => {
  const listed = { status: ["open"], kind: ["web"] };
  const columns = Object.entries(listed).map(([name, allowedValues]) => ({
    ...buildCatalogColumn(name, "text"),
    labels: allowedValues,
    allowedValues,
  }));
  const [table] = buildCatalog({ orders: "id" }).tables;
  assert.ok(table);
  const { tables: [shown] } = withoutListedValues(
    { tables: [{ ...table, columns }] },
    createColumnPatterns(["orders.status"]),
  );
  assert.deepEqual(shown?.columns.map(({ labels, allowedValues }) => [labels, allowedValues]), [
    [[], []],
    [["web"], ["web"]],
  ]);
});
