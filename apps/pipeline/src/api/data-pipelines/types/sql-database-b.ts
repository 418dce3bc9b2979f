import { databaseQuery } from './database-query.ts'

/** MySQL and MariaDB. */
export const sqlDatabaseB = databaseQuery({
  defaultPort: 3306,
  connectionUrl({ host, port, database, ssl, trustServerCertificate }) {
    const mode = !ssl ? 'DISABLED' : trustServerCertificate ? 'REQUIRED' : 'VERIFY_IDENTITY'
    return `jdbc:mysql://${host}:${port}/${encodeURIComponent(database)}?sslMode=${mode}`
  },
})
