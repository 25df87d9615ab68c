/**
 * SQL for whether the source's id is still of the type, length and collation that an index keeps its keys in. All three
 * are SQL: the source's oid, the id column's name as a text, and the oid of the index's documents.
 */
export function keyMatchesSql(source: string, idColumn: string, documents: string): string {
  return `EXISTS (SELECT FROM pg_attribute s JOIN pg_attribute k USING (atttypid, atttypmod, attcollation)
    WHERE s.attrelid = ${source} AND s.attname = ${idColumn} AND NOT s.attisdropped
      AND k.attrelid = ${documents} AND k.attname = 'key')`;
}
