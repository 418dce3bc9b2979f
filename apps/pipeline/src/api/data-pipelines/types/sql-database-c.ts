import { databaseQuery } from './database-query.ts'

/** Oracle Database; `database` is the service. */
export const sqlDatabaseC = databaseQuery({
  defaultPort: 1521,
  connectionUrl: ({ host, port, database, ssl }) =>
    `jdbc:oracle:thin:@${ssl ? 'tcps:' : ''}//${host}:${port}/${encodeURIComponent(database)}`,
})
