import assert from "node:assert/strict";
import { askedText } from "../../../src/rag_server/keyword/asked_text.ts";

Deno.test("askedText() leaves out endings and abbreviations that tell nothing", () => {
  for (
    const [question, expected] of [
      ["I'd like what we've in Anna's shop, don’t I'm", "I like what we in Anna shop, don I"],
      ["birds (e.g., gulls), I.E. these--i.e. those", "birds (., gulls), . these--. those"],
      ["птицы, т.е. чайки; π.χ. και", "птицы, . чайки; . και"],
    ] as const
  ) {
    assert.equal(askedText(question), expected);
  }
});

Deno.test("askedText() keeps words of one letter, names and other abbreviations", () => {
  for (
    const question of [
      "vitamin C in 'R' or \"D\"",
      "O'Brien d'Alembert qu'il",
      "U.S. u.s. p.m. a.k.a. J.R.Smith А.С.Пушкин",
      "pie.gz i.e2 v1.2.3 x-ray 中.日",
    ]
  ) {
    assert.equal(askedText(question), question);
  }
});
