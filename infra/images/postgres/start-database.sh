#!/bin/bash
# Starts PostgreSQL by the image's own entrypoint, which takes a cluster for finished as soon as it has a version file.
# A machine that crashed while the cluster was being made would leave one without the application's role, for ever. So a
# mark stands beside it from before the first file until after the last init script: what carries it holds no data
# yet and is made anew. A cluster without the mark is never touched.
set -euo pipefail

mark="$PGDATA.unfinished"

if [ -e "$mark" ]; then
  echo 'The last start was cut off while it made the cluster: beginning again.'
  rm -rf "$PGDATA"
elif [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$(dirname "$PGDATA")"
  touch "$mark"
  sync "$mark" "$(dirname "$mark")"
fi

# With this setting, readers connect through a published port (docker-compose.readers.yml), and the other roles from this network only.
# PostgreSQL refuses a key that its group can read.
if [ -n "${SERVICES_NETWORK:-}" ]; then
  install -m 0600 /run/secrets/server.key /var/run/postgresql/server.key
  sed "s|^host all all SERVICES_NETWORK|host all all $SERVICES_NETWORK|" /etc/sluice/pg_hba.conf >/var/run/postgresql/pg_hba.conf
  set -- "$@" -c ssl=on -c ssl_cert_file=/run/secrets/server.pem -c ssl_key_file=/var/run/postgresql/server.key \
    -c hba_file=/var/run/postgresql/pg_hba.conf -c authentication_timeout=10s
fi

exec docker-entrypoint.sh "$@"
