import type { Dialect } from '../dialects/dialect.ts'
import { openDialectWarehouse } from '../dialects/open-warehouse.ts'
import type { Warehouse } from '../warehouse.ts'
import type { ClientAccess } from './access.ts'
import { bracketed, namesOf } from './names.ts'
import { catalogueOf } from './catalogue.ts'
import { changesOf } from './changes.ts'
import { pour } from './pour.ts'
import { explain, explainQuery } from './problems.ts'
import { provision } from './provision.ts'
import { openSession } from './session.ts'
import { tsql } from './tokens.ts'
import { types } from './types.ts'

/** One client's part of a SQL Server. */
export function sqlServerDialect(access: ClientAccess): Dialect {
  let ownedViews = true
  return {
    names: namesOf(access),
    types,
    catalogue: catalogueOf(access),
    changes: changesOf(access, () => ownedViews),
    bareNames: 'REWRITTEN',
    language: tsql,
    open: (opening) => openSession(access, opening),
    async provision() {
      ;({ ownedViews } = await provision(access))
    },
    pour: (filling, content, signal) => pour(access, filling, content, signal),
    explain,
    explainQuery,
    page: (query, { limit, offset, order = [] }) =>
      `${query} order by ${order.length > 0 ? order.map(bracketed).join(', ') : '(select null)'} offset ${offset} rows fetch next ${Math.max(1, limit)} rows only`,
  }
}

export const openSqlServerWarehouse = (access: ClientAccess): Warehouse =>
  openDialectWarehouse(sqlServerDialect(access))
