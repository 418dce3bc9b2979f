import { defaultPorts } from '@sluice/contracts/systems'
import type { DatabaseProduct } from '../database-connector/database-connector.ts'

export const sqlServer: DatabaseProduct = {
  kind: 'sql-server',
  defaultPort: defaultPorts.SQL_DATABASE_A,
  tablesQuery: `
    select s.name as [schema], o.name as name
    from sys.objects o join sys.schemas s on s.schema_id = o.schema_id
    where o.type in ('U', 'V') and o.is_ms_shipped = 0 and has_perms_by_name(quotename(s.name) + '.' + quotename(o.name), 'OBJECT', 'SELECT') = 1`,
}
