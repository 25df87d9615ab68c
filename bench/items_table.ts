/** A table of 10,000 rows and four columns, whose every type is read in another way. */
export const itemsTable = `
  CREATE TABLE items (id int PRIMARY KEY, name text NOT NULL, price numeric NOT NULL, added timestamptz NOT NULL);
  INSERT INTO items SELECT i, 'item ' || i, i * 1.5, '2026-01-01'::timestamptz + i * interval '1 minute'
    FROM generate_series(1, 10000) i;
  ANALYZE items`;
