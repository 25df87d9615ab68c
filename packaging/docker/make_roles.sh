# PostgreSQL's image runs this once, in the new database: a role that writes the documents, and one that reads them.
set -eu
passwords=${PASSWORDS:-/run/passwords}

psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --quiet \
  -v database="$POSTGRES_DB" \
  -v owner_password="$(cat "$passwords/postern_owner")" \
  -v reader_password="$(cat "$passwords/postern_reader")" <<'SQL'
CREATE EXTENSION vector;
CREATE ROLE postern_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE postern_reader LOGIN PASSWORD :'reader_password';
GRANT CREATE ON DATABASE :"database" TO postern_owner;
GRANT CREATE ON SCHEMA public TO postern_owner;
ALTER DEFAULT PRIVILEGES FOR ROLE postern_owner IN SCHEMA public GRANT SELECT ON TABLES TO postern_reader;
SQL
