import type { SqlDialect } from '../sql-warehouse/sql-dialect.ts'
import { openSqlWarehouse } from '../sql-warehouse/sql-warehouse.ts'
import type { Warehouse } from '../warehouse.ts'
import type { ClientAccess } from './tsql-settings.ts'
import { quoteIdentifier, namesOf } from './sql-identifiers.ts'
import { catalogueOf } from './tsql-catalog.ts'
import { changesOf } from './statements/tsql-statements.ts'
import { bulkLoad } from './tsql-loader.ts'
import { explainSqlServerError, explainQuery } from './map-server-errors.ts'
import { provisionSqlServer } from './provision-warehouse.ts'
import { openSession } from './session/session.ts'
import { tsqlLanguage } from './statements/tokens.ts'
import { tsqlTypes } from './column-types.ts'

export const sqlServerDialect = (access: ClientAccess): SqlDialect => tsqlDialect(access, changesOf)

/**
 * Returns the SQL dialect of SQL Server for one organisation. `createStatements` returns the statements that change
 * tables and views. Synapse passes a function of its own, because it needs some statements in another form.
 */
export function tsqlDialect(access: ClientAccess, createStatements: typeof changesOf): SqlDialect {
  const names = namesOf(access)
  // `provision` sets it to false for a server on which views cannot belong to a user without rights.
  let ownedViews = true
  return {
    names,
    types: tsqlTypes,
    catalogue: catalogueOf(access),
    changes: createStatements(access, () => ownedViews),
    publication: 'TRANSACTION',
    bareNames: 'REWRITTEN',
    language: tsqlLanguage,
    open: (options) => openSession(access, options),
    async provision() {
      const provisioned = await provisionSqlServer(access)
      ownedViews = provisioned.ownedViews
    },
    copyRows: (filling, content, signal) => bulkLoad(access, filling, content, signal),
    explain: explainSqlServerError,
    explainQuery,
    page: (place, columns, { limit, offset, order }) =>
      `select ${columns.map(quoteIdentifier).join(', ')} from ${names.place(place)} order by ${orderText(order)} offset ${offset} rows fetch next ${Math.max(1, limit)} rows only`,
  }
}

/**
 * Returns the ORDER BY terms that OFFSET and FETCH require. Without a requested order, the term is a constant, so the
 * server chooses the order.
 */
export const orderText = (order: readonly string[]): string =>
  order.length > 0 ? order.map(quoteIdentifier).join(', ') : '(select null)'

export const openSqlServerWarehouse = (access: ClientAccess): Warehouse => openSqlWarehouse(sqlServerDialect(access))
