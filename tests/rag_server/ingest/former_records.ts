/**
 * What the program before sources wrote for three folders and a file, statement for statement: `-ingest P docs`, later
 * `-ingest P docs/api`, after `errors.md` had been added there, and `-ingest P notes.txt`.
 */
export const formerFiles = {
  "docs/leave.md": "# Leave\n\nAll employees get 25 days.\n",
  "docs/api/calls.md": "# Calls\n\nThe limit is nine calls.\n",
  "docs/api/errors.md": "# Errors\n\nCode 7 means that the quota is spent.\n",
  "notes.txt": "Parking is free.\n",
} as const;

/** @param folder the absolute one that holds `docs` and `notes.txt` */
export function formerRecordsSql(folder: string): string {
  return `
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE public.docs ("id" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, source text NOT NULL,
  title text NOT NULL, position int NOT NULL, "content" text NOT NULL, "embedding" public.vector(256) NOT NULL);
CREATE INDEX ON public.docs USING hnsw ("embedding" public.vector_cosine_ops);
CREATE SCHEMA IF NOT EXISTS postern;
CREATE TABLE IF NOT EXISTS postern.ingested_files (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    target regclass NOT NULL,
    path text NOT NULL,
    source text NOT NULL,
    hash text NOT NULL,
    ingested_at timestamptz NOT NULL,
    UNIQUE (target, path));
CREATE TABLE IF NOT EXISTS postern.ingested_chunks (
    file bigint NOT NULL REFERENCES postern.ingested_files ON DELETE CASCADE,
    position int NOT NULL,
    key text NOT NULL,
    hash text NOT NULL,
    PRIMARY KEY (file, position));
INSERT INTO public.docs (source, title, position, content, embedding)
  SELECT r.source, r.title, 0, r.content, array_fill(0.0625::real, ARRAY[256])::vector FROM (VALUES
    (1, 'api/calls.md', 'Calls', E'Calls\\n\\nThe limit is nine calls.'),
    (2, 'leave.md', 'Leave', E'Leave\\n\\nAll employees get 25 days.'),
    (3, 'errors.md', 'Errors', E'Errors\\n\\nCode 7 means that the quota is spent.'),
    (4, 'notes.txt', 'notes', E'notes\\n\\nParking is free.')) r(at, source, title, content) ORDER BY r.at;
INSERT INTO postern.ingested_files (target, path, source, hash, ingested_at) VALUES
  ('docs'::regclass, '${folder}/docs/api/calls.md', 'api/calls.md',
    '311e967c79d8919c4c3665e637b4a4f5b1bc9c53618252f68c540e1d4d120dd6', '2026-01-02 03:04:05.678901+00'),
  ('docs'::regclass, '${folder}/docs/leave.md', 'leave.md',
    '07f9545e42d04953081ebcfcf01947f7cac0255d34dc738424c45b4d1de5d418', '2026-01-02 03:04:05.78+00');
INSERT INTO postern.ingested_files (target, path, source, hash, ingested_at) VALUES
  ('docs'::regclass, '${folder}/docs/api/errors.md', 'errors.md',
    '06138018f20916a2532944601e4336c9f246f4940e051f2699c17fe727ba1007', '2026-02-02 03:04:05+00');
INSERT INTO postern.ingested_files (target, path, source, hash, ingested_at) VALUES
  ('docs'::regclass, '${folder}/notes.txt', 'notes.txt',
    '94297165b3a3b0ef298a7fac35c3e629f90a5b0a0ac7d47976f6ce63b99347bc', '2026-03-02 03:04:05+00');
INSERT INTO postern.ingested_chunks (file, position, key, hash) VALUES
  (1, 0, '1', 'bad1b41315c5160f84d5a7df4c19bb74242bce07e71ded3a9e84beb8ffe10588'),
  (2, 0, '2', 'd8536e1b0ad9b4b91413f8f7168e58049f290e8ac44f85cb0cee1b87e41e8b38'),
  (3, 0, '3', '728700a24f44ce1e795f1e9d0b12e6bf9e5a045fdaf33c8d0b361c903c96523d'),
  (4, 0, '4', '5552a165f84417dbdbd303dd402ce588bb70ee235587a2b1f301eed2b4da2e21');
ANALYZE public.docs;`;
}

/** How the program before sources reads its records, before it reads a file or asks a provider. */
export const formerReadingSql = `
SELECT f.id, f.path, f.source, f.hash, (count(t."id") = count(c.key))::int FROM postern.ingested_files f
  LEFT JOIN postern.ingested_chunks c ON c.file = f.id
  LEFT JOIN public.docs t ON t."id" = c.key::bigint
  WHERE f.target = 'docs'::regclass::oid GROUP BY f.id`;
