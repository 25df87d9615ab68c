# Makes the tables that replicas share, and gives their role its password. It may run again.
set -eu
passwords=${PASSWORDS:-/run/passwords}
PGPASSWORD=$(cat "$passwords/postgres")
export PGPASSWORD

psql -v ON_ERROR_STOP=1 --quiet -v state_password="$(cat "$passwords/postern_state")" \
  --file "${STATE_SQL:-/state.sql}" --file - <<'SQL'
ALTER ROLE postern_state PASSWORD :'state_password';
SQL
