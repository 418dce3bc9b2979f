import { defineDatabase, sslMode } from '../database-connector/database-settings.ts'

export const postgresDefinition = defineDatabase('SQL_DATABASE_D', (server) => {
  const { host, port, database } = server
  return `jdbc:postgresql://${host}:${port}/${encodeURIComponent(database)}?sslmode=${sslMode(server)}`
})
