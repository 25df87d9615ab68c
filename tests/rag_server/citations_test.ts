import assert from "node:assert/strict";
import fc from "fast-check";
import { findCitations } from "../../src/rag_server/citations.ts";

const passages = [
  "Leave > Annual\n\nEmployees have 30 days of annual leave. Requests go to Marie Curie by 17.5.2024. It costs 1,250.50 euros.",
  "Parents may take three months of parental leave, unpaid, with the approval of their manager.",
  "员工每年有三十天年假，试用期为6个月。",
];

const sourcesOf = (texts: readonly string[]) => texts.map((content) => ({ content }));

/** What the citations of an answer say, each with its text. */
async function told(answer: string, texts: readonly string[] = passages) {
  const characters = [...answer];
  return (await findCitations(answer, sourcesOf(texts))).map(({ start, end, sources, verified, unknown }) => [
    characters.slice(start, end).join(""),
    sources,
    verified,
    ...unknown === undefined ? [] : [unknown],
  ]);
}

const judged = async (...answers: string[]) =>
  (await Promise.all(answers.map((answer) => told(answer)))).map(([first]) => first?.[2]);

Deno.test("each sentence is held against the sources that it names", async () => {
  assert.deepEqual(await told("Annual leave is 30 days [1]. Parents may take three months of leave [2]."), [
    ["Annual leave is 30 days [1].", [1], true],
    ["Parents may take three months of leave [2].", [2], true],
  ]);
  assert.deepEqual(await told("Annual leave is 30 days [2]."), [[
    "Annual leave is 30 days [2].",
    [2],
    false,
  ]]);
});

Deno.test("a number after the full stop belongs to the sentence before, unless that has one", async () => {
  assert.deepEqual(await told("𝄞 Annual leave is 30 days. [1] Parents may take leave. [2]"), [
    ["𝄞 Annual leave is 30 days. [1]", [1], true],
    ["Parents may take leave. [2]", [2], true],
  ]);
  assert.deepEqual(await told("Annual leave is 30 days [1]. [2] grants parental leave to parents."), [
    ["Annual leave is 30 days [1].", [1], true],
    ["[2] grants parental leave to parents.", [2], true],
  ]);
});

Deno.test("numbers stand in lists, ranges and brackets of other scripts", async () => {
  for (const marks of ["[1, 2]", "[1][2]", "[1-2]", "[1–2]", "【1】【2】", "[2; 1] [1]"]) {
    const [[, sources] = []] = await told(`Annual leave is 30 days, parental leave three months ${marks}.`);
    assert.deepEqual([...(sources as number[])].toSorted(), [1, 2], marks);
  }
  assert.deepEqual((await told("See a[0] and x[i] in the annual leave code."))[0]?.slice(1), [[], false, [
    0,
  ]]);
});

Deno.test("a number that was not shown is marked", async () => {
  assert.deepEqual(await told("Annual leave is 30 days [1][9]. More in the leave annex [4]."), [
    ["Annual leave is 30 days [1][9].", [1], true, [9]],
    ["More in the leave annex [4].", [], false, [4]],
  ]);
  assert.deepEqual((await told("Leave [999999999-1], [1-999999999].", []))[0]?.slice(1, 3), [[], false]);
});

Deno.test("a claim without a source is marked, and what claims nothing is left out", async () => {
  const [first, ...rest] = await findCitations(
    "Managers decide about sabbaticals quickly. Yes.",
    sourcesOf(passages),
  );
  assert.deepEqual(first, { start: 0, end: 42, cited: false, sources: [], verified: false });
  assert.deepEqual(rest, []);
  assert.deepEqual(
    await told(
      "# Annual leave of employees\n\nThere are several kinds of leave:\n\nWould you like more leave details?",
    ),
    [],
  );
  assert.deepEqual(await told(""), []);
});

Deno.test("a number, date or name that the source lacks is not verified", async () => {
  assert.deepEqual(
    await judged(
      "Annual leave is 31 days [1].",
      "Requests go to Marie Curie by 2024-05-17 [1].",
      "Requests go to Marie Curie by 18.5.2024 [1].",
      "Requests go to Pierre Curie [1].",
      "Pierre gets annual leave of 30 days [1].",
      "It costs 1.250,50 euros [1].",
      "It costs 1250.5 euros [1].",
      "It costs 1,250.60 euros [1].",
      "1. Employees have 30days of annual leave [1].",
    ),
    [false, true, false, false, false, true, true, false, true],
  );
});

for (
  const [source, right, wrong] of [
    ["Gesperrt ist der Hafen seit dem 17. Mai 2024.", "17. Mai 2024", "17. Juni 2024"],
    ["Gesperrt ist der Hafen seit dem 17. Mai 2024.", "17.05.2024", "17.5.2023"],
    ["Gesperrt ist der Hafen seit dem 17. Mai.", "17. Mai", "18. Mai"],
    ["Gesperrt ist der Hafen seit dem 17. Mai.", "17.05.2024", "17.06.2024"],
    ["Hafen: gesperrt seit 5/6/2024", "5. Juni 2024", "6. Juni 2024"],
    ["La oficina abre el 3 de septiembre de 2025", "3.9.2025", "3 de octubre de 2025"],
    ["Le musée ferme le 1er août 2023", "01/08/2023", "1er mai 2023"],
    ["Музей закрыт с 1 марта 2024 года", "1.03.2024", "1 мая 2024"],
    ["The port opened in May 2024", "May 2024", "June 2024"],
    ["博物館は2024年5月17日から閉館", "2024-05-17", "2024年17月5日"],
    ["员工享有十五天带薪年假", "15天", "三十天"],
    ["员工享有二千五百元", "2500元", "二千六百元"],
    ["Die Frist beträgt vier Wochen", "4 Wochen", "sechs Wochen"],
    ["It opens at six", "6", "nine"],
    ["It runs 15,000 miles", "15 000 miles", "16 000 miles"],
    ["The pump MV-77 is on", "MV77", "MV78"],
    ["The pump MV77 is on", "MV-77", "MV-78"],
    ["عدد الأيام 30", "٣٠", "٣١"],
  ] as const
) {
  Deno.test(`of "${source}" ${right} is verified, and ${wrong} is not`, async () => {
    const cited = (figure: string) =>
      told(`${source.replace(/\P{L}*$/u, "")}: ${figure} [1].`, [`${source} x`]);
    assert.ok((await cited(right)).every(([, , verified]) => verified), right);
    assert.ok((await cited(wrong)).some(([, , verified]) => !verified), wrong);
  });
}

Deno.test("a number right behind a full stop ends its sentence, in markup too", async () => {
  const [leave, invented] = ["Annual leave is 30 days", "It eats tourists daily"];
  for (
    const answer of [
      `${leave}.[1] ${invented}.`,
      `**${leave}.** [1] ${invented}.`,
      `${leave}.<sup>[1]</sup> ${invented}.`,
      `“${leave}.”[1] “${invented}.”`,
      `${leave} [1].${invented}.`,
    ]
  ) {
    assert.deepEqual((await told(answer)).map(([, sources, verified]) => [sources, verified]), [
      [[1], true],
      [[], false],
    ], answer);
  }
});

Deno.test("brackets in code name no source", async () => {
  const answer = "Annual leave of 30 days is `leave[2]` in code [1].\n\n```\nx = leave[2]\n```";
  assert.deepEqual((await told(answer)).map(([, sources]) => sources), [[1]]);
});

Deno.test("words that the source lacks are not verified, other words for some are", async () => {
  assert.deepEqual(
    await judged(
      "Dogs chase cats around gardens [1].",
      "Parents can take parental leave when managers approve [2].",
      "Yes [1].",
    ),
    [false, true, false],
  );
});

Deno.test("a first word that is written small somewhere is no name", async () => {
  const answer = "Staff have 30 days of annual leave [1]. All staff may take parental leave [2].";
  assert.deepEqual((await told(answer)).map(([, , verified]) => verified), [true, true]);
  assert.deepEqual(await judged("Staff have 30 days of annual leave [1]."), [false]);
});

Deno.test("languages without spaces are held against sources too", async () => {
  assert.deepEqual(
    await told("员工每年有三十天年假[3]。试用期为6个月。[3]试用期为9个月[3]。公司提供免费午餐[3]。"),
    [
      ["员工每年有三十天年假[3]。", [3], true],
      ["试用期为6个月。[3]", [3], true],
      ["试用期为9个月[3]。", [3], false],
      ["公司提供免费午餐[3]。", [3], false],
    ],
  );
});

Deno.test("nouns of German are no names, but what follows a title is", async () => {
  const german = [
    "Angestellte bekommen 30 Tage Urlaub im Jahr. Der Antrag geht an Frau Weber und wird geprüft.",
  ];
  assert.deepEqual(
    (await told("Die Angestellten haben 30 Tage Urlaub und ein Recht auf den Antrag [1].", german))[0]?.[2],
    true,
  );
  assert.deepEqual(
    (await told("Der Antrag geht an Frau Schmidt und wird geprüft [1].", german))[0]?.[2],
    false,
  );
  assert.deepEqual((await told("Der Antrag geht an Frau Weber und wird geprüft [1].", german))[0]?.[2], true);
});

Deno.test("any answer has citations in order, within it, and of sources that there are", async () => {
  const part = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.constantFrom("[1]", "[2]. ", " [3-9]", "[0]", "【1】", "。", "\n\n", "30 "),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(part), async (parts) => {
      const answer = parts.join("");
      let before = 0;
      for (
        const { start, end, cited, sources, verified } of await findCitations(answer, sourcesOf(passages))
      ) {
        assert.ok(start >= before && end > start && end <= [...answer].length);
        before = start;
        assert.ok(sources.every((number) => number >= 1 && number <= 3));
        assert.equal(cited, sources.length > 0);
        assert.ok(cited || !verified);
      }
    }),
    { numRuns: 300 },
  );
});
