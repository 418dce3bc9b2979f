import { defineDatabase } from '../database-connector/database-settings.ts'

export const sqlServerDefinition = defineDatabase(
  'SQL_DATABASE_A',
  ({ host, port, database, ssl = false, trustServerCertificate = false }) =>
    `jdbc:sqlserver://${host}:${port};databaseName=${braced(database)};encrypt=${ssl};trustServerCertificate=${trustServerCertificate}`,
)

/** Puts a value with special characters of connection strings into braces. */
const braced = (value: string): string => (/[;{}=]/.test(value) ? `{${value.replaceAll('}', '}}')}}` : value)
