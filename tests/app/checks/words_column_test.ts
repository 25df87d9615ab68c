import { randomBytes } from "node:crypto";
import { createRoles, testWithPgvector } from "../../support/database.ts";
import { assertFault, assertFine, createDoctorFixture } from "./fixture.ts";

const reader = `words_reader_${randomBytes(4).toString("hex")}`;

testWithPgvector(
  "the doctor gives a table that callers have rows of their own in a column of its words",
  async () => {
    await using _role = await createRoles([reader], `CREATE ROLE ${reader} LOGIN`);
    await using fixture = await createDoctorFixture(
      `CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(3), words text);
    ALTER TABLE docs ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON docs USING (words = current_setting('app.name'));
    CREATE VIEW seen WITH (security_invoker = on) AS SELECT * FROM docs; GRANT SELECT ON docs, seen TO ${reader};
    INSERT INTO docs SELECT n, 'text', '[1,0,0]' FROM generate_series(1, 1200) n; ANALYZE docs`,
      { user: reader, sessionSettings: { "app.name": "{username}" } },
    );
    const look = (table = "docs") => fixture.look(`words of ${table}`, { table });
    const message = (relation: string) =>
      `No tsvector column with a GIN index has the words of ${relation}, so questions read the texts that their ` +
      "caller may see; where these are more than 5,000 rows or 4 MiB, they are searched by meaning alone";
    assertFault(await look("seen"), "warning", message("public.seen"));
    await fixture.apply(assertFault(await look(), "warning", message("public.docs")));
    assertFine(await look());
    await fixture.admin.query(`DROP INDEX docs_body_words_idx`);
    assertFault(await look(), "warning", message("public.docs"));
  },
);
