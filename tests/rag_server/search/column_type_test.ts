import assert from "node:assert/strict";
import { columnTypeOf } from "../../../src/rag_server/search/column_type.ts";

Deno.test("types that Postern does not know are text by category, whatever they are called", () => {
  for (const name of ["constructor", "__proto__", "toString", "hstore"]) {
    assert.deepEqual(columnTypeOf({ name, sqlType: name, category: "U" }), { kind: "other", sqlType: name });
    assert.deepEqual(columnTypeOf({ name, sqlType: name, category: "S" }), { kind: "text", sqlType: name });
  }
});
