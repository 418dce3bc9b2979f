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

# With a certificate, readers may connect (docker-compose.readers.yml). PostgreSQL refuses a key that its group can read.
if [ -e /run/secrets/server.pem ]; then
  install -m 0600 /run/secrets/server.key /var/run/postgresql/server.key
  set -- "$@" -c ssl=on -c ssl_cert_file=/run/secrets/server.pem -c ssl_key_file=/var/run/postgresql/server.key \
    -c hba_file=/etc/sluice/pg_hba.conf
fi

exec docker-entrypoint.sh "$@"
