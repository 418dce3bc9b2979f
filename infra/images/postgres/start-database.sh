#!/bin/bash
# Starts PostgreSQL with the entrypoint of the image. The entrypoint considers a cluster complete as soon as it has a
# version file. After a crash during the creation, the role of the application would be missing forever. This script
# therefore creates a marker file before the cluster, and the last init script deletes it. A cluster with the marker
# file has no data yet and is created again. A cluster without it is not changed.
set -euo pipefail

marker="$PGDATA.unfinished"

if [ -e "$marker" ]; then
  echo 'The last start was interrupted while it created the cluster. It is created again.'
  rm -rf "$PGDATA"
elif [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$(dirname "$PGDATA")"
  touch "$marker"
  sync "$marker" "$(dirname "$marker")"
fi

# SERVICES_NETWORK lets readers connect through a published port (docker-compose.readers.yml), and the other roles from
# this network only. PostgreSQL refuses a key that its group can read.
if [ -n "${SERVICES_NETWORK:-}" ]; then
  install -m 0600 /run/secrets/server.key /var/run/postgresql/server.key
  sed "s|^host all all SERVICES_NETWORK|host all all $SERVICES_NETWORK|" /etc/sluice/pg_hba.conf >/var/run/postgresql/pg_hba.conf
  set -- "$@" -c ssl=on -c ssl_cert_file=/run/secrets/server.pem -c ssl_key_file=/var/run/postgresql/server.key \
    -c hba_file=/var/run/postgresql/pg_hba.conf -c authentication_timeout=10s
fi

exec docker-entrypoint.sh "$@"
