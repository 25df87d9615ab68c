/** A small schema with one of each thing that a tool shows. */
export const librarySchema = `
CREATE SCHEMA lending;
CREATE TYPE book_state AS ENUM ('shelved', 'lent', 'lost');
CREATE TABLE authors (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE);
CREATE TABLE books (
  id int PRIMARY KEY,
  author_id int NOT NULL REFERENCES authors,
  title text NOT NULL,
  price numeric(8,2) DEFAULT 9.99,
  state book_state NOT NULL DEFAULT 'shelved',
  tags text[],
  facts jsonb,
  published date
);
COMMENT ON TABLE books IS 'What the library owns';
COMMENT ON COLUMN books.price IS 'Replacement cost in euro';
CREATE INDEX books_published ON books (published);
CREATE TABLE lending.loans (book_id int REFERENCES books, day date, PRIMARY KEY (book_id, day));
CREATE VIEW cheap_books AS SELECT id, title FROM books WHERE price < 5;
CREATE TABLE secrets (id int PRIMARY KEY, code text);
INSERT INTO authors (name) SELECT 'Author ' || n FROM generate_series(1, 5) AS n;
INSERT INTO books (id, author_id, title, price, state, tags, facts, published)
SELECT n, n % 5 + 1, 'Book ' || n, n, 'shelved', ARRAY['a', 'b'], '{"pages": 120}', date '2020-01-01' + n
FROM generate_series(1, 250) AS n;
INSERT INTO books (id, author_id, title, tags) VALUES (251, 1, E'Tab\\tand\\nline', NULL);
ANALYZE;
`;
