import assert from "node:assert/strict";
import { testWithPgvector } from "../../support/database.ts";
import { assertFault, createDoctorFixture } from "./fixture.ts";

const check = "language of docs";
const fine = [{ check, ok: true }];
const tableOf = (text: string) => `
  CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(3), lang text);
  INSERT INTO docs SELECT n, '${text}', '[1,2,3]', 'german' FROM generate_series(1, 20) n`;

const texts: Readonly<Record<string, string>> = {
  english: "The leave of a worker is paid, and it is for the office to say when it will be taken",
  german: "Der Urlaub ist bezahlt, und wann er genommen wird, sagt das Amt nach dem Antrag mit der Frist",
  french: "Les congés sont payés, et le bureau dit quand ils sont pris par les agents de la ville",
  spanish: "Las vacaciones son pagadas y la oficina dice cuándo se toman por los que las piden",
  russian: "Отпуск оплачен, и он не может быть взят, если на это нет согласия того, кто за него отвечает",
  greek: "Η άδεια πληρώνεται και το γραφείο λέει πότε δίνεται",
  hindi: "छुट्टी का वेतन मिलता है और कार्यालय समय बताता है",
};

testWithPgvector("the doctor proposes the language of the texts, where another is configured", async () => {
  for (const [language, text] of Object.entries(texts)) {
    await using fixture = await createDoctorFixture(tableOf(text));
    assert.deepEqual(await fixture.look(check, { textSearchConfig: language }), fine, language);
    assert.deepEqual(await fixture.look(check, { textSearchConfig: "lang" }), fine, language);
    const configured = language === "english" ? "german" : "english";
    const remedy = assertFault(
      await fixture.look(check, { textSearchConfig: configured }),
      "warning",
      `The texts look ${language}, but text_search_config is ${configured}, so forms of a word are taken for others`,
    );
    assert.match(remedy, new RegExp(`text_search_config: ${language} for table docs`));
  }
});

testWithPgvector(
  "the doctor says that pairs of letters are searched, and nothing of too few words",
  async () => {
    for (const text of ["今日の東京は天気がいいです", "我在北京大学学习", "ฉันอยู่ที่กรุงเทพ"]) {
      await using fixture = await createDoctorFixture(tableOf(text));
      const note = "its texts have no blanks between words, so pairs of letters are searched";
      assert.deepEqual(await fixture.look(check), [{ check, ok: true, note }]);
    }
    await using fixture = await createDoctorFixture(tableOf("XJ-9000 1.2.3 Lorem"));
    assert.deepEqual(await fixture.look(check), fine);
  },
);
