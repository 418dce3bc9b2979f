import type { DialectStatements, NewColumn } from '../../sql-warehouse/sql-dialect.ts'
import { sqlList, sqlFragment, plainSql, type SqlStatement, sql } from '../../sql-warehouse/sql-statement.ts'
import type { TablePlace } from '../../catalog.ts'
import type { ClientAccess } from '../tsql-settings.ts'
import { quoteIdentifier, formatLiteral, namesOf } from '../sql-identifiers.ts'
import { assertSingleQuery, splitQuery } from './assert-single-query.ts'
import { trimStatementEnd } from '../../sql-text/sql-tokens.ts'
import { isText } from '../column-types.ts'

/**
 * A collation that compares texts by code units, as the other warehouses do, whatever the server's default collation
 * is.
 */
const binaryCollation = ' collate Latin1_General_100_BIN2'

/**
 * Returns the database user that owns views. It has no rights, so readers of a view need their own rights on its
 * tables.
 */
export const viewOwner = (key: string): string => `c_${key}_views`

/** The error number that Sluice's statement raises for a concurrent publication. */
export const ledgerBusy = 50_931

/**
 * Returns SQL Server's statements for one organisation. Each runs as a separate batch. `ownedViews` returns true if
 * views can belong to the user `viewOwner`.
 */
export function changesOf(access: ClientAccess, ownedViews: () => boolean): DialectStatements {
  const names = namesOf(access)
  const { load, read } = access.logins
  const schemaName = (schema: string) => `${access.prefix}${schema}`
  const users = [load.user, read.user].map(quoteIdentifier).join(', ')
  const buildViewStatements = (verb: 'create' | 'alter', place: TablePlace, text: string) => {
    const view = viewText(verb, names.place(place), text)
    if (!ownedViews()) return [view]
    // Runs in one transaction with the statement above, so that no session can read the view while Sluice's user owns
    // it.
    return [
      view,
      plainSql(`alter authorization on object::${names.place(place)} to ${quoteIdentifier(viewOwner(access.key))}`),
    ]
  }
  return {
    createSchema(schema) {
      const name = schemaName(schema)
      return [
        plainSql(
          `if schema_id(${formatLiteral(name)}) is null exec(${formatLiteral(`create schema ${quoteIdentifier(name)}`)})`,
        ),
        plainSql(`grant select on schema::${quoteIdentifier(name)} to ${users}`),
      ]
    },
    dropSchema: (schema) => [plainSql(`drop schema if exists ${quoteIdentifier(schemaName(schema))}`)],
    createTable: (place, columns) =>
      plainSql(`create table ${names.place(place)} (${columns.map(columnText).join(', ')})`),
    dropTable: (place) => plainSql(`drop table if exists ${names.place(place)}`),
    dropColumn: (place, column) => plainSql(`alter table ${names.place(place)} drop column ${quoteIdentifier(column)}`),
    dropView: (place) => plainSql(`drop view if exists ${names.place(place)}`),
    rename: (from, to) =>
      plainSql(`exec sp_rename ${formatLiteral(names.place(from))}, ${formatLiteral(to)}, N'OBJECT'`),
    createView: (place, text) => buildViewStatements('create', place, text),
    changeView: (place, text) => buildViewStatements('alter', place, text),
    insert: (place, columns, query) => [
      sql`insert into ${sqlFragment(names.place(place))} (${sqlList(columns.map(quoteIdentifier))}) exec sp_executesql ${trimStatementEnd(query)}`,
    ],
    grant(place, to) {
      const writeRights = `insert, update, delete on ${names.place(place)}`
      if (to === 'FILL') return [plainSql(`grant ${writeRights} to ${quoteIdentifier(load.user)}`)]
      return [plainSql(`revoke ${writeRights} from ${quoteIdentifier(load.user)}`)]
    },
    lockLedger: () => [
      plainSql(`declare @taken int
exec @taken = sp_getapplock @Resource = ${formatLiteral(`sluice ${access.key}`)}, @LockMode = 'Exclusive', @LockOwner = 'Transaction',
  @LockTimeout = 10000, @DbPrincipal = 'dbo'
if @taken < 0 begin; throw ${ledgerBusy}, N'Another session is publishing.', 1; end`),
    ],
  }
}

/**
 * Returns the SQL that creates or alters a view from a user's query. Throws SQL_NOT_ALLOWED unless the text is a single
 * query.
 */
export function viewText(verb: 'create' | 'alter', qualifiedName: string, text: string): SqlStatement {
  const query = trimStatementEnd(text)
  // A second statement could otherwise run with every right: the view's creator and default owner is Sluice's user.
  assertSingleQuery(query)
  return plainSql(`${verb} view ${qualifiedName} as\n${withoutOrder(query)}`)
}

/** Returns the definition of a column for CREATE TABLE. */
export const columnText = ({ name, type, nullable }: NewColumn): string =>
  `${quoteIdentifier(name)} ${type}${isText(type) ? binaryCollation : ''}${nullable ? ' null' : ' not null'}`

/**
 * Removes the ORDER BY of the query, because the server rejects views with an order. Keeps it in a query with TOP or
 * OFFSET, because the server accepts that and the order determines the rows.
 */
export function withoutOrder(query: string): string {
  const { isOrderEmbeddable, orderByStart } = splitQuery(query)
  return isOrderEmbeddable ? query : query.slice(0, orderByStart)
}
