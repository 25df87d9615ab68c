import assert from "node:assert/strict";
import { z } from "zod";
import { readEntries, readSections } from "../../../src/tool_server/definitions/sections.ts";
import { faultText } from "../../../src/core/yaml/file_fault.ts";

const entry = z.strictObject({
  name: z.string(),
  note: z.string().optional(),
  often: z.boolean().optional(),
});

Deno.test("readSections() hands over each part with the places of what is in it", async () => {
  const { sections, faults } = await readSections(
    "questions:\n  - name: one\n  - name: 2\n    nota: x\n  - often: yes\nprompt: []\n",
  );
  assert.deepEqual(faults.map((fault) => faultText(fault)), [
    'line 6, column 1: prompt: unknown key; expected tools, prompts, resources, questions, models; did you mean "prompts"?',
  ]);
  assert.ok(sections);
  const read = readEntries(sections.questions, entry);
  assert.deepEqual(read.entries, [{ value: { name: "one" }, path: ["questions", 0] }]);
  assert.deepEqual(read.faults.map((fault) => faultText(fault)), [
    "line 3, column 11: questions[1].name: expected a text",
    'line 4, column 5: questions[1].nota: unknown key; did you mean "note"?',
    "line 5, column 5: questions[2].name: is required",
    "line 5, column 12: questions[2].often: expected true or false",
  ]);
  assert.deepEqual(readEntries(sections.models, entry), { entries: [], faults: [] });
});

Deno.test("readSections() reads JSON too", async () => {
  const { sections, faults } = await readSections('{\n  "models": [{"name": "one"}]\n}');
  assert.deepEqual(faults, []);
  assert.ok(sections);
  assert.deepEqual(readEntries(sections.models, entry).entries, [
    { value: { name: "one" }, path: ["models", 0] },
  ]);
});

Deno.test("readSections() gives nothing but faults for a text that is no YAML", async () => {
  const { sections, faults } = await readSections("tools:\n  - name: [a\n");
  assert.equal(sections, undefined);
  assert.ok(faults.length > 0);
  assert.equal(faults[0]?.path, "");
});
