import { defineDatabase } from '../database-connector/database-settings.ts'

export const mysqlDefinition = defineDatabase(
  'SQL_DATABASE_B',
  ({ host, port, database, ssl, trustServerCertificate }) => {
    const mode = !ssl ? 'DISABLED' : trustServerCertificate ? 'REQUIRED' : 'VERIFY_IDENTITY'
    return `jdbc:mysql://${host}:${port}/${encodeURIComponent(database)}?sslMode=${mode}`
  },
)
