import { defineDatabase } from '../database-connector/database-settings.ts'

export const oracleDefinition = defineDatabase(
  'SQL_DATABASE_C',
  ({ host, port, database, ssl }) =>
    `jdbc:oracle:thin:@${ssl ? 'tcps:' : ''}//${host}:${port}/${encodeURIComponent(database)}`,
)
