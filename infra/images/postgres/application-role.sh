#!/bin/bash
# Runs once, when a database container creates its cluster. Creates the role of the application, which is not a
# superuser, and its database, to which no other role can connect.
#
#     APPLICATION_ROLE           name of the role and of its database
#     APPLICATION_ROLE_OPTIONS   further role options, e.g. CREATEDB CREATEROLE
#     APPLICATION_PASSWORD_FILE  file with the role's password
#
# psql reads the password with backticks, so it is not on a command line. A failing statement is not logged.
set -euo pipefail

psql --no-psqlrc --set ON_ERROR_STOP=1 --username postgres --dbname postgres \
  --set role="${APPLICATION_ROLE:?}" --set options="${APPLICATION_ROLE_OPTIONS:-}" <<'SQL'
\set password `cat "$APPLICATION_PASSWORD_FILE"`
SET log_min_error_statement = panic;
CREATE ROLE :"role" LOGIN NOSUPERUSER :options PASSWORD :'password';
CREATE DATABASE :"role" OWNER :"role";
REVOKE CONNECT ON DATABASE :"role" FROM PUBLIC;
REVOKE CONNECT ON DATABASE postgres, template1 FROM PUBLIC;
SQL

# The cluster is complete. See start-database.sh.
rm -f "$PGDATA.unfinished"
