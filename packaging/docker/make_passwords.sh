# Makes a password for each role, once: PostgreSQL's own file for each, and a password file for Postern.
set -eu
database=/run/database-passwords
postern=/run/postern-passwords
umask 077

if [ ! -s "$postern/pgpass" ]; then
  for role in postgres postern_owner postern_reader; do
    head -c 24 /dev/urandom | base64 | tr '+/' '-_' >"$database/$role"
  done
  for role in postern_owner postern_reader; do
    echo "database:5432:*:$role:$(cat "$database/$role")"
  done >"$postern/pgpass.new"
  mv "$postern/pgpass.new" "$postern/pgpass"
fi
chown -R postgres:postgres "$database"
chown -R 65532:65532 "$postern"
