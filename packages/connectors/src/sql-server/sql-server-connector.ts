import type { DatabaseProduct } from '../database-connector/database-product.ts'

export const sqlServer: DatabaseProduct = {
  kind: 'sql-server',
  formatConnectionUrl: ({ host, port, database, ssl = false, trustServerCertificate = false }) =>
    `jdbc:sqlserver://${host}:${port};databaseName=${quoteInBraces(database)};encrypt=${ssl};trustServerCertificate=${trustServerCertificate}`,
  tablesQuery: `
    select s.name as [schema], o.name as name
    from sys.objects o join sys.schemas s on s.schema_id = o.schema_id
    where o.type in ('U', 'V') and o.is_ms_shipped = 0 and has_perms_by_name(quotename(s.name) + '.' + quotename(o.name), 'OBJECT', 'SELECT') = 1`,
}

/** Encloses a value in braces if it contains special characters of connection strings. */
function quoteInBraces(value: string): string {
  const hasSpecialCharacters = /[;{}=]/.test(value)
  return hasSpecialCharacters ? `{${value.replaceAll('}', '}}')}}` : value
}
