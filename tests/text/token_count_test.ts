import assert from "node:assert/strict";
import fc from "fast-check";
import { anyText } from "../support/any_text.ts";
import { countTokens, endOfTokens } from "../../src/text/token_count.ts";

/** What each is, and how many tokens OpenAI's `o200k_base` makes of it. */
const ordinary: readonly (readonly [name: string, tokens: number, text: string])[] = [
  [
    "English",
    41,
    "Every employee is entitled to 25 days of paid leave a year. Unused days may be carried over until the end of March; after that they lapse, unless the manager has agreed otherwise in writing.",
  ],
  [
    "an abstract",
    163,
    "experimental investigation of the aerodynamics of a wing in a slipstream . an experimental study of a wing in a propeller slipstream was made in order to determine the spanwise distribution of the lift increase due to slipstream at different angles of attack of the wing and at different free stream to slipstream velocity ratios . the results were intended in part as an evaluation basis for different theoretical treatments of this problem . the comparative span loading curves, together with supporting evidence, showed that a substantial part of the lift increment produced by the slipstream was due to a /destalling/ or boundary-layer-control effect . the integrated remaining lift increment, after subtracting this destalling lift, was found to agree well with a potential flow theory . an empirical evaluation of the destalling effects was made for the specific configuration of the experiment .",
  ],
  [
    "figures and abbreviations",
    47,
    "Dr. Smith's report (3.5 pages, published in the U.S. on 4 July 2024) shows that revenues rose by 12.7% to $4,310,000 while operating costs fell.",
  ],
  [
    "a query",
    53,
    "SELECT c.name, count(*) AS orders, sum(o.total_amount) FROM customers c JOIN orders o ON o.customer_id = c.id WHERE o.created_at >= now() - interval '30 days' GROUP BY 1 ORDER BY 3 DESC LIMIT 10;",
  ],
  [
    "DDL",
    82,
    "CREATE TABLE public.order_lines (\n  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,\n  order_id bigint NOT NULL REFERENCES public.orders (id) ON DELETE CASCADE,\n  quantity integer NOT NULL CHECK (quantity > 0),\n  unit_price numeric(10,2) NOT NULL DEFAULT 0.00\n);\nCREATE INDEX order_lines_order_id_idx ON public.order_lines USING btree (order_id);",
  ],
  [
    "TypeScript",
    73,
    'export function cutToTokens(text: string, maxTokens: number): string {\n  if (countTokens(text) <= maxTokens) return text;\n  for (let i = 0; i < text.length; i++) {\n    if (isSentenceEnd(text[i])) return text.slice(0, i + 1);\n  }\n  return "";\n}\n',
  ],
  [
    "JSON",
    40,
    '{"id":1042,"name":"Garden chair","tags":["outdoor","wood"],"price":49.9,"in_stock":true,"dimensions":{"width":56,"height":88}}',
  ],
  [
    "german",
    48,
    "Jeder Mitarbeiter hat Anspruch auf 25 Tage bezahlten Urlaub im Jahr. Nicht genommene Urlaubstage können bis Ende März des Folgejahres übertragen werden; danach verfallen sie, sofern die Geschäftsführung nichts anderes vereinbart hat.",
  ],
  [
    "french",
    41,
    "Chaque employé a droit à 25 jours de congés payés par an. Les jours non utilisés peuvent être reportés jusqu'à la fin du mois de mars, après quoi ils sont perdus.",
  ],
  [
    "polish",
    41,
    "Każdy pracownik ma prawo do dwudziestu pięciu dni płatnego urlopu w roku. Niewykorzystane dni można przenieść do końca marca następnego roku.",
  ],
  [
    "russian",
    31,
    "Каждый сотрудник имеет право на двадцать пять дней оплачиваемого отпуска в году. Неиспользованные дни можно перенести до конца марта.",
  ],
  [
    "greek",
    49,
    "Κάθε εργαζόμενος δικαιούται είκοσι πέντε ημέρες άδειας μετ' αποδοχών τον χρόνο. Οι ημέρες που δεν χρησιμοποιούνται μεταφέρονται έως τον Μάρτιο.",
  ],
  [
    "simplified Chinese",
    45,
    "每位员工每年享有二十五天带薪年假。未使用的假期可以结转至次年三月底,之后将自动失效,除非经理另有书面同意。",
  ],
  [
    "traditional Chinese",
    49,
    "每位員工每年享有二十五天帶薪年假。未使用的假期可以結轉至次年三月底,之後將自動失效,除非經理另有書面同意。",
  ],
  [
    "japanese",
    50,
    "従業員は毎年25日間の有給休暇を取得できます。使用しなかった日数は翌年の三月末まで繰り越すことができますが、それ以降は失効します。",
  ],
  [
    "korean",
    37,
    "모든 직원은 매년 25일의 유급 휴가를 받을 수 있습니다. 사용하지 않은 휴가는 다음 해 3월 말까지 이월할 수 있습니다.",
  ],
  [
    "arabic",
    33,
    "يحق لكل موظف الحصول على خمسة وعشرين يوما من الإجازة المدفوعة في السنة. يمكن ترحيل الأيام غير المستخدمة حتى نهاية مارس.",
  ],
  [
    "hebrew",
    34,
    "כל עובד זכאי לעשרים וחמישה ימי חופשה בתשלום בשנה. ימים שלא נוצלו ניתנים להעברה עד סוף חודש מרץ.",
  ],
  ["thai", 41, "พนักงานทุกคนมีสิทธิลาพักร้อนโดยได้รับค่าจ้างยี่สิบห้าวันต่อปี วันที่ไม่ได้ใช้สามารถยกยอดไปจนถึงสิ้นเดือนมีนาคม"],
  ["emoji", 33, "😀😂🥳👍🏽🎉🚀❤️👩‍👩‍👧‍👦🇩🇪🇯🇵🍕"],
  [
    "digits",
    48,
    "31415926535897932384626433832795 1,234,567.89 2024-02-29T23:59:59Z +49 30 901820 192.168.100.254",
  ],
  ["UUIDs", 41, "550e8400-e29b-41d4-a716-446655440000 f47ac10b-58cc-4372-a567-0e02b2c3d479"],
  ["blanks", 15, "a    b\t\tc\n\n\n    d        e\n        f\r\n\r\ng"],
  [
    "Markdown",
    63,
    "# Leave\n\n| Country | Days |\n|---------|------|\n| Germany | 30   |\n| France  | 25   |\n\n- **Carry over**: until *March*\n- See [the policy](https://example.com/policy/leave?year=2024#carry-over)\n\n----------------------------------------\n",
  ],
];

/** Texts no one writes, which an estimate may miss by more. */
const odd: typeof ordinary = [
  [
    "hindi",
    35,
    "प्रत्येक कर्मचारी को वर्ष में पच्चीस दिन का सवेतन अवकाश मिलता है। अप्रयुक्त दिन मार्च के अंत तक आगे ले जाए जा सकते हैं।",
  ],
  [
    "identifiers",
    28,
    "getUserAccountInformationById customer_billing_address_line_two XMLHttpRequestFactory MAX_CONNECTIONS_PER_DATABASE pg_stat_user_tables_last_autovacuum",
  ],
  ["Base64", 54, "U29tZSByYW5kb20gYmFzZTY0IHRleHQgdGhhdCBrZWVwcyBnb2luZyBvbiBhbmQgb24gZm9yIGEgd2hpbGU="],
  ["random letters", 30, "xkqzjwvptrbnmlkjhgfdswq zzxqwkrtpl qpwoeirutyalskdjfhg"],
  ["rows of marks", 26, "!!!??? ... --- === *** <<>> {}[]() => && || ?? ;;; #$%^&*@~`|\\/"],
];

for (const [name, tokens, text] of ordinary) {
  Deno.test(`countTokens() is within 15 % on ${name}`, () => {
    const ratio = countTokens(text) / tokens;
    assert.ok(ratio > 0.93 && ratio < 1.15, `${countTokens(text)} for ${tokens}`);
  });
}

for (const [name, tokens, text] of odd) {
  Deno.test(`countTokens() is within 30 % on ${name}`, () => {
    const ratio = countTokens(text) / tokens;
    assert.ok(ratio > 0.75 && ratio < 1.3, `${countTokens(text)} for ${tokens}`);
  });
}

Deno.test("countTokens() of nothing is 0, and of anything else at least 1", () => {
  assert.equal(countTokens(""), 0);
  for (const text of [" ", "\n", "a", ".", "é", "漢", "word", "\n\n"]) {
    assert.equal(countTokens(text), 1, text);
  }
});

Deno.test("countTokens() is a whole number from 0 to three for each UTF-16 unit of any text", () => {
  fc.assert(fc.property(anyText(), (text) => {
    const tokens = countTokens(text);
    assert.ok(Number.isInteger(tokens) && tokens >= 0 && tokens <= 3 * text.length);
  }));
});

Deno.test("endOfTokens() is the text's end where all of it fits", () => {
  fc.assert(fc.property(anyText(), (text) => {
    assert.equal(endOfTokens(text, countTokens(text)), text.length);
  }));
});

Deno.test("countTokens() takes long runs of one kind", () => {
  for (const character of ["a", "A", "1", " ", "\n", "!", "é", "漢", "\ud83d"]) {
    const tokens = countTokens(character.repeat(1_000_000));
    assert.ok(tokens > 10_000 && tokens < 3_000_000, `${character}: ${tokens}`);
  }
});
