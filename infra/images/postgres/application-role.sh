#!/bin/bash
# Run once, when a database container makes its cluster: the role and the database of the application, which is no
# superuser, and whose database nobody else may enter.
#
#     APPLICATION_ROLE           name of the role and of its database
#     APPLICATION_ROLE_OPTIONS   further role options, e.g. CREATEDB CREATEROLE
#     APPLICATION_PASSWORD_FILE  file with the role's password
#
# The password reaches SQL through psql's own backticks: it is on no command line, and a failing statement is not logged.
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

# The cluster is complete: see start-database.sh.
rm -f "$PGDATA.unfinished"
