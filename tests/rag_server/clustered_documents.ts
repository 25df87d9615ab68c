/** Rows of {@linkcode clusteredDocuments}. */
export const documentCount = 20_000;

/**
 * A table of vectors around 100 centres, as SQL: those of `embedding` with an index by cosine, the same as halfvec in
 * `half` with one by Euclidean distance. Every fifth row has no vector. `share` has the values `half`, `twentieth` and
 * `thousandth` on so much of the rows at random; `cluster` is the centre's number, and so tells much of the vector.
 */
export const clusteredDocuments = `
  CREATE TABLE docs (
    id int PRIMARY KEY, body text NOT NULL, embedding vector(32), half halfvec(32), share text, cluster int);
  SELECT setseed(0.5);
  INSERT INTO docs (id, body, share, cluster)
    SELECT n, 'text ' || n, CASE WHEN r < 0.5 THEN 'half' WHEN r < 0.55 THEN 'twentieth' WHEN r < 0.551 THEN 'thousandth' END,
      n % 100
    FROM (SELECT n, random() AS r FROM generate_series(1, ${documentCount}) n) s;
  UPDATE docs SET embedding = (
    SELECT array_agg(abs(sin(cluster * 12.9898 + d * 78.233)) - 0.5 + (random() - 0.5) * 0.8)
    FROM generate_series(1, 32) d
  )::vector WHERE id % 5 <> 0;
  UPDATE docs SET half = embedding::halfvec;
  SET maintenance_work_mem = '256MB';
  CREATE INDEX ON docs USING hnsw (embedding vector_cosine_ops);
  CREATE INDEX ON docs USING hnsw (half halfvec_l2_ops);
  ANALYZE docs;`;
