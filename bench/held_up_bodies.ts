/** Bodies that were made to keep a server busy, by name. */
export type Bodies = Readonly<Record<string, string>>;

const mebibyte = 1_048_576;
const times = (count: number, item: string) => Array(count).fill(item).join();
const numbered = (count: number, item: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => item(at)).join();

function call(name: string, args: unknown, id = 1): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } });
}

const query = (sql: string, more = {}) => call("query_database", { query: sql, ...more });

/** As long as a statement may be. */
const long = {
  casts: `SELECT ${times(14_000, "x::int")}`,
  numbers: `SELECT 1 WHERE 1 IN (${times(12_000, "1234567")})`,
  names: `SELECT g(${numbered(12_000, (at) => `f${at}()`)})`,
  columns: `SELECT ${numbered(1_600, (at) => `${at} c${at}`)} FROM generate_series(1, 1000)`,
  nulls: `SELECT ${times(1_600, "NULL")} FROM generate_series(1, 1000)`,
  lines: `SELECT 1\n${"\n".repeat(98_000)}FROM nowhere`,
  string: `SELECT '${"é".repeat(98_000)}'`,
  astral: `SELECT nothing, '${"😀".repeat(49_000)}', "x`,
  strings: `SELECT ${times(1_000, `'${"a".repeat(90)}'`)} FROM nowhere`,
  comments: `SELECT 1 ${"/* */".repeat(19_000)}`,
  words: "how many customers bought ".repeat(3_800),
  verbs: `select ${"the best customers from us ".repeat(3_600)}`,
  quotes: "'".repeat(98_000),
  blanks: `select${" ".repeat(98_000)}x`,
  from: `select ${"from from ".repeat(9_800)}`,
  dots: `select ${"a.".repeat(49_000)}`,
  set: `update ${"set a ".repeat(16_000)}`,
  parentheses: "(".repeat(98_000),
  explain: "explain ".repeat(12_000),
};

/** For the tool server. */
export const toolBodies: Bodies = {
  "nothing to speak of": query("SELECT 1"),
  ...Object.fromEntries(Object.entries(long).map(([name, sql]) => [`statement: ${name}`, query(sql)])),
  "in words: 10,000 characters": query("how many customers bought ".repeat(380)),
  "in words: all different": query(numbered(1_200, (at) => `shop ${at}`).replaceAll(",", " ")),
  "in words: one word": query("x".repeat(9_990)),
  "in words: astral signs": query("😀".repeat(4_990)),
  "in words: one of a hundred names": query(`${"shop_".repeat(1_990)} please`),
  "in words: CamelCase": query("ShopPrice".repeat(1_100)),
  "1,000 rows of 1,600 NULLs": query(long.nulls, { limit: 1000 }),
  "1,000 rows of 1,600 numbers": query(long.columns, { limit: 1000 }),
  "1 MiB of one row": query("SELECT repeat('<\"é', 250000)"),
  "1 MiB of JSON": query(`SELECT ('[' || repeat('[],', 300000) || '1]')::json`),
  "deep JSON": query(`SELECT (repeat('[', 5000) || repeat(']', 5000))::json`),
  "explain of casts": call("execute_explain", { query: long.casts }),
  "explain of 2,000 subqueries": call("execute_explain", {
    query: `SELECT ${times(900, "(SELECT 1)")}`,
    analyze: false,
  }),
  "condition of 20,000": call("count_rows", { table: "pages", where: `id IN (${times(9_000, "1")})` }),
  "batch of 40 x 98 KB": `[${times(40, query(long.casts))}]`,
  "batch of 5 x 98 KB": `[${numbered(5, (at) => query(`SELECT ${at}, ${times(13_900, "x::int")}`))}]`,
  "batch of 50 x 9 KB": `[${numbered(50, (at) => query(`SELECT ${at}, ${times(1_280, "x::int")}`))}]`,
  "batch of 50 x 1 KB": `[${numbered(50, (at) => query(`SELECT ${at}, ${times(138, "x::int")}`))}]`,
  "batch of 50 times 1,000 rows": `[${times(50, query("SELECT generate_series(1, 1000)", { limit: 1000 }))}]`,
  "batch of a million": `[${times(mebibyte, "{}")}]`,
  "4 MiB of [": "[".repeat(4 * mebibyte - 10),
  '4 MiB of {"a":': '{"a":'.repeat(800_000),
  "4 MiB of numbers": `[${times(2 * mebibyte - 10, "1")}]`,
  "4 MiB of keys": `{${numbered(300_000, (at) => `"k${at}":1`)}}`,
  "9,900 arguments": call("query_database", JSON.parse(`{${numbered(9_900, (at) => `"k${at}":1`)}}`)),
  "290,000 lists": call("query_database", { query: Array(290_000).fill([]) }),
  "9,900 params": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${
    numbered(9_900, (at) => `"k${at}":1`)
  }}}`,
  "9,900 members": `{"jsonrpc":"2.0","id":1,"method":"ping",${numbered(9_900, (at) => `"k${at}":1`)}}`,
  "290,000 numbers": call("query_database", { query: Array(290_000).fill(1) }),
  "an argument of 4 MiB": query("x".repeat(4 * mebibyte - 200)),
  "4 MiB of escapes":
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query_database","arguments":{"query":"${
      "\\u0041".repeat(690_000)
    }"}}}`,
  "a key of 4 MiB": call("query_database", { ["k".repeat(4 * mebibyte - 200)]: 1 }),
  "a tool's name of 4 MiB": call("n".repeat(4 * mebibyte - 200), {}),
  "an id of 4 MiB": `{"jsonrpc":"2.0","method":"ping","id":"${"i".repeat(4 * mebibyte - 200)}"}`,
  "a method of 4 MiB": `{"jsonrpc":"2.0","id":1,"method":"${"m".repeat(4 * mebibyte - 200)}"}`,
  "a number of 4 MiB": `{"jsonrpc":"2.0","method":"ping","id":${"1".repeat(4 * mebibyte - 200)}}`,
  "no JSON after 4 MiB": `{"a":"${"x".repeat(4 * mebibyte - 200)}"} x`,
  "a deep argument": call("query_database", {
    query: "SELECT 1",
    deep: JSON.parse("[".repeat(90) + "]".repeat(90)),
  }),
};

const question = (more: unknown) => JSON.stringify({ query: "How many days of leave?", ...Object(more) });
const condition = (value: unknown, operator = "=") => ({ column: "year", operator, value });

/** For the RAG server. */
export const queryBodies: Bodies = {
  "nothing to speak of": question({}),
  "1 MiB of [": "[".repeat(mebibyte - 10),
  "1 MiB of numbers": `[${times(mebibyte / 2 - 10, "1")}]`,
  "1 MiB of keys": `{${numbered(80_000, (at) => `"k${at}":1`)}}`,
  "9,900 keys": question(JSON.parse(`{${numbered(9_900, (at) => `"k${at}":1`)}}`)),
  "290,000 messages": question({ messages: Array(290_000).fill(1) }),
  "100 messages of 10 KB": question({
    messages: Array(100).fill({ role: "user", content: "leave? ".repeat(1_450) }),
  }),
  "100 messages of one word": question({
    messages: Array(100).fill({ role: "user", content: "x".repeat(10_000) }),
  }),
  "20,000 wrong messages": question({ messages: Array(20_000).fill({}) }),
  "a query of 32,000": JSON.stringify({ query: "leave ".repeat(5_300) }),
  "a query of 32,000 words": JSON.stringify({ query: numbered(5_000, (at) => `w${at} `) }),
  "a query of one word": JSON.stringify({ query: "x".repeat(32_000) }),
  "a query of astral signs": JSON.stringify({ query: "😀".repeat(16_000) }),
  "a query of 1 MiB": JSON.stringify({ query: "x".repeat(mebibyte - 20) }),
  "50 x 1,000 values": question({
    filter: { conditions: Array(50).fill(condition(Array(1_000).fill(2024), "IN")) },
  }),
  "50 x 1,000 texts": question({
    filter: {
      conditions: Array(50).fill({
        column: "audience",
        operator: "IN",
        value: Array(1_000).fill("contractors"),
      }),
    },
  }),
  "3,000 conditions": question({ filter: { conditions: Array(3_000).fill(condition(1)) } }),
  "50 lists of 90,000": question({ filter: { conditions: [condition(Array(90_000).fill(1), "IN")] } }),
  "a deep value": question({
    filter: { conditions: [condition(JSON.parse("[".repeat(80) + "]".repeat(80)))] },
  }),
  "a number of 1 MiB": `{"query":"x","filter":{"conditions":[{"column":"year","operator":"=","value":${
    "1".repeat(mebibyte - 100)
  }}]}}`,
  "60,000 long numbers": `{"query":"x","filter":{"conditions":[{"column":"year","operator":"IN","value":[${
    times(60_000, "12345678901234567")
  }]}]}}`,
  "a column of 1 MiB": question({
    filter: { conditions: [{ column: "c".repeat(mebibyte - 200), operator: "=", value: 1 }] },
  }),
  "an operator of 1 MiB": question({ filter: { conditions: [condition(1, "o".repeat(mebibyte - 200))] } }),
  "a key of 1 MiB": question({ ["k".repeat(mebibyte - 200)]: 1 }),
};
