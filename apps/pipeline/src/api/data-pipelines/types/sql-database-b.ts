import { defaultPorts } from '@sluice/contracts'
import { databaseQuery } from './database-query.ts'

/** MySQL and MariaDB. */
export const sqlDatabaseB = databaseQuery({
  defaultPort: defaultPorts.SQL_DATABASE_B,
  connectionUrl({ host, port, database, ssl, trustServerCertificate }) {
    const mode = !ssl ? 'DISABLED' : trustServerCertificate ? 'REQUIRED' : 'VERIFY_IDENTITY'
    return `jdbc:mysql://${host}:${port}/${encodeURIComponent(database)}?sslMode=${mode}`
  },
})
