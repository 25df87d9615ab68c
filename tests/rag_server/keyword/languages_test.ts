import assert from "node:assert/strict";
import { quoteLiteral } from "../../../src/postgres/sql_text.ts";
import { testWithPostgres } from "../../support/database.ts";
import { createKeywordFixture } from "./fixture.ts";

type Probe = readonly [question: string, first: string, other: string];

/** By configuration: what is asked, the text that must be first, and one that has some of the words or of their letters. */
const probes: Readonly<Record<string, readonly Probe[]>> = {
  english: [
    ["to be or not to be", "To be, or not to be: that is the question", "Big ships sail to the open sea"],
    ["the who", "Who is the who of this town?", "A drummer of a band"],
    ["cafe naive", "A naïve guest in the café", "A guest in the house"],
    ["C#", "Lessons in C# for starters", "Vitamin C in fruit"],
    ["C++ compiler", "A compiler of C++ code", "A compiler of C code"],
    ["230 V", "The motor runs at 230V", "230 workers at 110 V"],
    ["230V", "The motor runs at 230 V", "The motor runs at 110 V"],
    ["5GB of memory", "A plan with 5 GB", "A plan with 7 GB"],
    ["AX-204-B", "Order part AX204B here", "Order part AX-205-B here"],
    ["ax204b", "Order part AX-204-B here", "Order part AX-205-B here"],
    ["нц300", "Насос НЦ-300 стоит", "Насос НЦ-301 стоит"],
    ["НЦ 300", "Насос НЦ300 стоит", "Насос НЦ301 стоит"],
    ["rfc2616", "As RFC 2616 says", "As RFC 2617 says"],
    ["2024-05-17", "It began on May 17th, 2024", "It began on May 18th, 2024"],
    ["17 May 2024", "Logged at 2024-05-17", "Logged at 2024-05-18, in May, day 17"],
    ["May 17, 2024", "Signed 17/05/2024", "Signed 17/06/2024"],
  ],
  german: [
    ["Kuendigungsfrist", "Die Kündigungsfrist beträgt drei Monate", "Ein Vertrag gilt drei Monate"],
    ["Kundigungsfrist", "Die Kündigungsfrist beträgt drei Monate", "Ein Vertrag gilt drei Monate"],
    ["Kündigungsfrist", "Die Kuendigungsfrist betraegt drei Monate", "Ein Vertrag gilt drei Monate"],
    ["Strasse sperren", "Wir sperren die Straße", "Wir öffnen den Platz"],
    ["Kündigung", "Die Kündigungsfristen sind kurz", "Der Urlaub ist kurz"],
    ["Reise", "Eine Dienstreisekostenabrechnung", "Ein Dienstplan"],
    ["17. Mai 2024", "Stand: 17.05.2024", "Stand: 18.05.2024"],
    ["17.05.2024", "am 17. Mai 2024 beschlossen", "am 18. Mai 2024 beschlossen"],
    ["3. März 2023", "Stand: 2023-03-03", "Stand: 2023-04-03"],
    ["sein oder nicht sein", "Sein oder nicht sein, das ist hier die Frage", "Das Haus war groß"],
  ],
  french: [
    ["conges payes", "Les congés payés sont acquis chaque mois", "Les primes sont payées chaque mois"],
    ["congés payés", "LES CONGES PAYES SONT ACQUIS", "Les primes du mois"],
    ["coeur", "Le cœur de la ville", "Le centre de la ville"],
    ["C#", "Programmer en C# pour débuter", "C'est un chien"],
    ["1er août 2023", "Le contrat du 01/08/2023", "Le contrat du 01/07/2023"],
    ["14 juillet 1789", "Archives : 14.07.1789", "Archives : 14.06.1789"],
    ["être ou ne pas être", "Être ou ne pas être, telle est la question", "Le chat dort"],
  ],
  spanish: [
    ["nino montana", "El niño sube a la montaña", "El perro sube al coche"],
    ["ventilacion", "La ventilación de la sala", "La sala de espera"],
    ["ventilaciones", "La ventilación de la sala", "La sala de espera"],
    ["3 de marzo de 2022", "Fecha: 03/03/2022", "Fecha: 03/04/2022"],
  ],
  portuguese: [
    ["situacao", "A situação do país", "A capital do país"],
    ["2 de fevereiro de 2021", "Data: 2021-02-02", "Data: 2021-03-02"],
  ],
  italian: [
    ["citta perche", "Perché la città dorme", "Quando il paese dorme"],
    ["5 gennaio 2020", "Data: 05.01.2020", "Data: 05.02.2020"],
  ],
  dutch: [
    ["verzekering", "De ziektekostenverzekeringen zijn duur", "De huizen zijn duur"],
    ["reeel", "Een reëel voorstel", "Een vreemd voorstel"],
    ["9 mei 2019", "Datum: 09-05-2019", "Datum: 09-06-2019"],
  ],
  russian: [
    ["елка", "Зелёная ёлка стоит в лесу", "Зелёный дом стоит в лесу"],
    ["9 мая 1945", "Дата: 09.05.1945", "Дата: 09.06.1945"],
    ["быть или не быть", "Быть или не быть, вот в чём вопрос", "Кот спит на крыше"],
  ],
  greek: [["μηχανη", "Η μηχανή δουλεύει", "Ο σκύλος κοιμάται"]],
  arabic: [["كتاب", "هذا كِتَابٌ جديد", "هذا بيت جديد"]],
  hindi: [["हिन्दी", "मैं हिन्दी बोलता हूँ", "मैं घर जाता हूँ"]],
  simple: [
    ["東京の天気", "今日の東京は天気がいいです。", "大阪で食べる人が多い。"],
    ["猫", "吾輩は猫である。", "犬がいる。"],
    ["カタカナ", "ｶﾀｶﾅで書く", "ひらがなで書く"],
    ["iPhone ケース", "iPhone用ケースを買う", "靴を買う"],
    ["2024年5月17日", "日付：2024-05-17", "日付：2024-05-18"],
    ["北京大学", "我在北京大学学习", "上海的学校很大"],
    ["กรุงเทพ", "ฉันอยู่ที่กรุงเทพมหานคร", "ฉันอยู่ที่เชียงใหม่"],
    ["학교", "나는 학교에서 공부한다", "나는 집에서 잔다"],
    ["שלום", "הוא אמר שָׁלוֹם לכולם", "הוא הלך לבית"],
    ["ＡＸ２０４", "Part AX-204", "Part AX-205"],
  ],
};

for (const [config, given] of Object.entries(probes)) {
  testWithPostgres(`${config}: words are found as people write them`, async () => {
    await using fixture = await createKeywordFixture("CREATE TABLE docs (id int PRIMARY KEY, body text)");
    await fixture.build({ config });
    const index = await fixture.find();
    for (const [question, first, other] of given) {
      await fixture.query(
        `TRUNCATE docs; INSERT INTO docs VALUES (1, ${quoteLiteral(other)}), (2, ${quoteLiteral(first)})`,
      );
      assert.equal((await fixture.ask(index, question))[0]?.id, "2", question);
    }
  });
}

testWithPostgres(
  "parts of words are found where the language joins words, or a setting says so",
  async () => {
    for (
      const [config, grams, found] of [
        ["german", undefined, ["1"]],
        ["german", false, []],
        ["english", undefined, []],
        ["english", true, ["1"]],
      ] as const
    ) {
      await using fixture = await createKeywordFixture(
        "CREATE TABLE docs (id int PRIMARY KEY, body text); INSERT INTO docs VALUES (1, 'Dampfschifffahrt')",
      );
      await fixture.build({ config, ...(grams !== undefined && { grams }) });
      assert.deepEqual(await fixture.idsOf("Schiffe"), found, `${config}, ${grams}`);
      await assert.rejects(fixture.build({ config, grams: found.length === 0 }), /other .* word_parts/);
    }
  },
);

testWithPostgres("a text without an index is read in the same way", async () => {
  await using fixture = await createKeywordFixture(`CREATE TABLE docs (id int PRIMARY KEY, body text);
    INSERT INTO docs VALUES (1, 'Les congés payés du 17 mai 2024'), (2, '今日の東京'), (3, 'AX-204-B'), (4, 'ـ'), (5, '380V')`);
  const index = await fixture.find({ config: "french" });
  assert.equal(index.kind, "tsvector");
  for (
    const [question, id] of [["conges", "1"], ["2024-05-17", "1"], ["東京", "2"], ["ax204b", "3"], [
      "380 V",
      "5",
    ]] as const
  ) {
    assert.equal((await fixture.ask(index, question))[0]?.id, id, question);
  }
  assert.deepEqual(await fixture.idsOf("380"), [], "only the question is put in other ways of writing");
});

testWithPostgres("an index of an older format is not asked, and its table says what to do", async () => {
  await using fixture = await createKeywordFixture(
    "CREATE TABLE docs (id int PRIMARY KEY, body text); INSERT INTO docs VALUES (1, 'whale')",
  );
  await fixture.build();
  await fixture.query("UPDATE postern.keyword_indexes SET format = 1");
  assert.equal((await fixture.find()).kind, "tsvector");
  await assert.rejects(fixture.build(), /format; drop it with -drop-index, then run -index-pipeline again/);
});
