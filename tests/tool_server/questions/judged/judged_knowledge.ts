import assert from "node:assert/strict";
import { silentLogger } from "../../../../src/core/logger.ts";
import { readShopQuestions } from "../../../../src/demo/demo_shop.ts";
import { createStatementGuard } from "../../../../src/postgres/guard/statement_guard.ts";
import { readSections } from "../../../../src/tool_server/definitions/sections.ts";
import { readModels } from "../../../../src/tool_server/questions/models/read_models.ts";
import { createSemanticModels } from "../../../../src/tool_server/questions/models/semantic_models.ts";
import type { Knowledge } from "../../../../src/tool_server/questions/prompt_knowledge.ts";
import { readQuestions } from "../../../../src/tool_server/questions/verified/read_questions.ts";
import { createVerifiedQuestions } from "../../../../src/tool_server/questions/verified/verified_questions.ts";

/** What the definitions of the demo's shop and of verified_hospital.yaml say; none of them has a fault. */
export async function judgedKnowledge(): Promise<Knowledge> {
  const checks = {
    guard: await createStatementGuard(),
    signal: new AbortController().signal,
    databases: ["shop", "hospital"],
  };
  const read = await Promise.all(checks.databases.map(async (database) => {
    const text = database === "shop"
      ? await readShopQuestions()
      : await Deno.readTextFile(new URL(`verified_${database}.yaml`, import.meta.url));
    const { sections, faults } = await readSections(text);
    assert.ok(sections && faults.length === 0, JSON.stringify(faults));
    const { questions, faults: questionFaults } = await readQuestions(sections.questions, checks);
    const { models, faults: modelFaults } = await readModels(sections.models, checks);
    assert.deepEqual([...questionFaults, ...modelFaults], []);
    return { questions, models };
  }));
  const questions = createVerifiedQuestions(
    read.flatMap((each) => each.questions),
    read.flatMap((each) => each.models),
  );
  const models = createSemanticModels(read.flatMap((each) => each.models), { logger: silentLogger });
  return { questions, models };
}
