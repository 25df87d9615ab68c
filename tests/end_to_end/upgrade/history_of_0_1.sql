-- What the program made as turns.sqlite: layout 1, with a request of the local caller's.
CREATE TABLE forgotten (
    owner TEXT PRIMARY KEY,
    generation INTEGER NOT NULL,
    at INTEGER NOT NULL
  ) STRICT;
CREATE TABLE turns (
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    database TEXT NOT NULL,
    question TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('statement', 'question')),
    reply TEXT NOT NULL,
    at INTEGER NOT NULL
  ) STRICT;
CREATE INDEX turns_by_owner ON turns (owner, id);
CREATE INDEX turns_by_time ON turns (at);
PRAGMA user_version = 1;
INSERT INTO turns (owner, database, question, kind, reply, at)
  VALUES ('local', 'main', 'how many docs are there', 'statement', 'SELECT count(*) FROM docs', 1767322800000);
