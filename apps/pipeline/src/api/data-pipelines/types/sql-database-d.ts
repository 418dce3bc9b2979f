import { defaultPorts } from '@sluice/contracts'
import { databaseQuery } from './database-query.ts'

/** PostgreSQL. */
export const sqlDatabaseD = databaseQuery({
  defaultPort: defaultPorts.SQL_DATABASE_D,
  connectionUrl({ host, port, database, ssl, trustServerCertificate }) {
    const mode = !ssl ? 'disable' : trustServerCertificate ? 'require' : 'verify-full'
    return `jdbc:postgresql://${host}:${port}/${encodeURIComponent(database)}?sslmode=${mode}`
  },
})
