import { defaultPorts } from '@sluice/contracts'
import { databaseQuery } from './database-query.ts'

/** Microsoft SQL Server. */
export const sqlDatabaseA = databaseQuery({
  defaultPort: defaultPorts.SQL_DATABASE_A,
  connectionUrl: ({ host, port, database, ssl = false, trustServerCertificate = false }) =>
    `jdbc:sqlserver://${host}:${port};databaseName=${braced(database)};encrypt=${ssl};trustServerCertificate=${trustServerCertificate}`,
})

/** A value with signs that mean something in a connection string goes into braces. */
const braced = (value: string): string => (/[;{}=]/.test(value) ? `{${value.replaceAll('}', '}}')}}` : value)
