import type { DatabaseProduct, StoredConnection } from '../database-connector/database-product.ts'

export const mysql: DatabaseProduct = {
  kind: 'mysql',
  formatConnectionUrl: (server) => {
    const { host, port, database } = server
    return `jdbc:mysql://${host}:${port}/${encodeURIComponent(database)}?sslMode=${getSslMode(server)}`
  },
  tablesQuery: `
    select cast(table_schema as char) as \`schema\`, cast(table_name as char) as name
    from information_schema.tables
    where table_schema not in ('information_schema', 'mysql', 'performance_schema', 'sys')`,
}

/** Returns the value of `sslMode` for MySQL's drivers. */
function getSslMode({ ssl, trustServerCertificate }: StoredConnection): string {
  if (!ssl) return 'DISABLED'
  return trustServerCertificate ? 'REQUIRED' : 'VERIFY_IDENTITY'
}
