import { defineDatabase, sslMode } from '../database-connector/database-settings.ts'

export const redshiftDefinition = defineDatabase('WAREHOUSE_A', (server) => {
  const { host, port, database } = server
  return `jdbc:redshift://${host}:${port}/${encodeURIComponent(database)}?sslmode=${sslMode(server)}`
})
