import assert from "node:assert/strict";
import { editDistance, nearestName } from "../../../src/core/text/near_name.ts";

Deno.test("editDistance() counts letters added, left out, changed and swapped", () => {
  assert.equal(editDistance("address", "address"), 0);
  assert.equal(editDistance("adress", "address"), 1);
  assert.equal(editDistance("addresss", "address"), 1);
  assert.equal(editDistance("addrest", "address"), 1);
  assert.equal(editDistance("adderss", "address"), 1);
  assert.equal(editDistance("", "host"), 4);
  assert.equal(editDistance("kitten", "sitting"), 3);
});

Deno.test("nearestName() gives the likeliest candidate and none where nothing is near", () => {
  const names = ["host", "hosts", "port", "password", "statement_timeout"];
  assert.equal(nearestName("hots", names), "host");
  assert.equal(nearestName("Password", names), "password");
  assert.equal(nearestName("statment_timeuot", names), "statement_timeout");
  assert.equal(nearestName("ghost", names), "host");
  assert.equal(nearestName("colour", names), undefined);
  assert.equal(nearestName("x", names), undefined);
});
