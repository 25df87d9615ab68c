import assert from "node:assert/strict";
import {
  createCompoundSplitter,
  nameWords,
  wordRoot,
} from "../../../../src/tool_server/questions/schema/name_words.ts";

Deno.test("nameWords() cuts identifiers however they are written", () => {
  for (
    const name of ["order_lines", "orderLines", "OrderLines", "ORDER_LINES", "Order Lines", "order-lines"]
  ) {
    assert.deepEqual(nameWords(name), ["order", "lines"], name);
  }
  assert.deepEqual(nameWords("HTTPServerLog2"), ["http", "server", "log", "2"]);
  assert.deepEqual(nameWords("Straße_übergabe"), ["strasse", "ubergabe"]);
  assert.deepEqual(nameWords("kWh and iPhone"), ["kwh", "and", "iphone"]);
});

Deno.test("wordRoot() joins a noun and its verb and keeps others apart", () => {
  for (
    const group of [
      "ship shipped shipping shipment",
      "pay paying payment",
      "cancel cancelled canceled cancellation",
    ]
  ) {
    assert.equal(new Set(group.split(" ").map(wordRoot)).size, 1, group);
  }
  assert.notEqual(wordRoot("order"), wordRoot("ord"));
  assert.notEqual(wordRoot("number"), wordRoot("numb"));
});

Deno.test("words in one are cut into known words, and only without a rest", () => {
  const split = createCompoundSplitter(new Set(["kunde", "adress"]));
  assert.deepEqual(split("salesorderheader"), ["sale", "order", "header"]);
  assert.deepEqual(split("customerid"), ["customer", "id"]);
  assert.deepEqual(split("kundeadresse"), ["kunde", "adress"]);
  for (const whole of ["discount", "percentage", "kundexadresse", "customer"]) {
    assert.deepEqual(split(whole), [whole]);
  }
});
