# Makes a password for each role, once: PostgreSQL's own file for each, and a password file for Postern.
set -eu
database=/run/database-passwords
postern=/run/postern-passwords
umask 077

# postern_state is the role of compose_replicas.yaml
for role in postgres postern_owner postern_reader postern_state; do
  if [ ! -s "$database/$role" ]; then
    head -c 24 /dev/urandom | base64 | tr '+/' '-_' >"$database/$role.new"
    mv "$database/$role.new" "$database/$role"
  fi
done
chown -R postgres:postgres "$database"

for role in postern_owner postern_reader postern_state; do
  echo "database:5432:*:$role:$(cat "$database/$role")"
done >"$postern/pgpass.new"
# before a server reads it
chown -R 65532:65532 "$postern"
mv "$postern/pgpass.new" "$postern/pgpass"
