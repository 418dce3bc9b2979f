import type { DatabaseProduct } from '../database-connector/database-product.ts'

export const mysql: DatabaseProduct = {
  kind: 'mysql',
  formatConnectionUrl: ({ host, port, database, ssl, trustServerCertificate }) => {
    const mode = !ssl ? 'DISABLED' : trustServerCertificate ? 'REQUIRED' : 'VERIFY_IDENTITY'
    return `jdbc:mysql://${host}:${port}/${encodeURIComponent(database)}?sslMode=${mode}`
  },
  tablesQuery: `
    select cast(table_schema as char) as \`schema\`, cast(table_name as char) as name
    from information_schema.tables
    where table_schema not in ('information_schema', 'mysql', 'performance_schema', 'sys')`,
}
