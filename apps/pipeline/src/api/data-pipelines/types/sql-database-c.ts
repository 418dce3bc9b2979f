import { defaultPorts } from '@sluice/contracts'
import { databaseQuery } from './database-query.ts'

/** Oracle Database; `database` is the service. */
export const sqlDatabaseC = databaseQuery({
  defaultPort: defaultPorts.SQL_DATABASE_C,
  connectionUrl: ({ host, port, database, ssl }) =>
    `jdbc:oracle:thin:@${ssl ? 'tcps:' : ''}//${host}:${port}/${encodeURIComponent(database)}`,
})
