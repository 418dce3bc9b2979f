import { databaseQuery } from './database-query.ts'

/** PostgreSQL. */
export const sqlDatabaseD = databaseQuery({
  defaultPort: 5432,
  connectionUrl({ host, port, database, ssl, trustServerCertificate }) {
    const mode = !ssl ? 'disable' : trustServerCertificate ? 'require' : 'verify-full'
    return `jdbc:postgresql://${host}:${port}/${encodeURIComponent(database)}?sslmode=${mode}`
  },
})
