import type { DialectStatements, NewColumn } from '../sql-warehouse/sql-dialect.ts'
import { plainSql } from '../sql-warehouse/sql-statement.ts'
import { trimStatementEnd } from '../sql-text/sql-tokens.ts'
import type { TablePlace } from '../catalog.ts'
import type { ClientAccess } from '../tsql/tsql-settings.ts'
import { changesOf, columnText, viewOwner, viewText, withoutOrder } from '../tsql/statements/tsql-statements.ts'
import { quoteIdentifier, formatLiteral, namesOf } from '../tsql/names.ts'
import { splitQuery } from '../tsql/statements/assert-single-query.ts'
import { assertOwnNames } from './assert-own-tables.ts'

/** Storage options for small tables, and for tables with texts of unlimited length, which a column store rejects. */
const heapStorage = ' with (heap, distribution = round_robin)'
const columnStore = ' with (clustered columnstore index, distribution = round_robin)'

/** The name of a temporary table of the session. */
const temporaryTable = '[#sluice]'

/** Returns the statements of a dedicated SQL pool: those of SQL Server, except where the pool differs. */
export function synapseChangesOf(access: ClientAccess, ownedViews: () => boolean): DialectStatements {
  const names = namesOf(access)
  const dropped = (kind: 'U' | 'V', place: TablePlace) =>
    plainSql(
      `if object_id(${formatLiteral(names.place(place))}, N'${kind}') is not null drop ${kind === 'U' ? 'table' : 'view'} ${names.place(place)}`,
    )
  const shared = changesOf(access, ownedViews)
  /**
   * Changes the owner of a schema to the user without rights. The schema's owner owns each object from its creation.
   * Synapse has no transaction to hide a view between its creation by Sluice's user and a change of its owner. In
   * between, the view would show everything that Sluice's user may read: the data of all organisations.
   */
  const givenAway = (schema: string) => {
    const [name, owner] = [`${access.prefix}${schema}`, viewOwner(access.key)]
    const transfer = plainSql(`alter authorization on schema::${quoteIdentifier(name)} to ${quoteIdentifier(owner)}`)
    // Grants the rights again, because changing a schema's owner may revoke them.
    const [, ...granted] = shared.createSchema(schema)
    const give = formatLiteral([transfer, ...granted].map(({ texts }) => texts.join('')).join('; '))
    // If the owner does not exist, this condition is true, so the statement fails instead of doing nothing.
    const isOthers = `select 1 from sys.schemas where name = ${formatLiteral(name)} and principal_id <> isnull(user_id(${formatLiteral(owner)}), 0)`
    return ownedViews() ? [plainSql(`if exists (${isOthers}) exec(${give})`)] : []
  }
  const viewOf = (verb: 'create' | 'alter', place: TablePlace, text: string) => {
    assertOwnNames(text, access.prefix)
    // Changes the schema's owner first, for schemas that an earlier version created.
    return [...givenAway(place.schema), viewText(verb, names.place(place), text)]
  }
  return {
    ...shared,
    createSchema(schema) {
      const [sharedStatement, ...granted] = shared.createSchema(schema)
      return [sharedStatement!, ...givenAway(schema), ...granted]
    },
    createView: (place, text) => viewOf('create', place, text),
    changeView: (place, text) => viewOf('alter', place, text),
    dropSchema(schema) {
      const name = `${access.prefix}${schema}`
      const drop = formatLiteral(`drop schema ${quoteIdentifier(name)}`)
      return [plainSql(`if schema_id(${formatLiteral(name)}) is not null exec(${drop})`)]
    },
    createTable: (place, columns) =>
      plainSql(`create table ${names.place(place)} (${columns.map(columnText).join(', ')})${keptAs(columns)}`),
    dropTable: (place) => dropped('U', place),
    dropView: (place) => dropped('V', place),
    rename: (from, to) => plainSql(`rename object ${names.place(from)} to ${quoteIdentifier(to)}`),
    insert(place, columns, query) {
      const [list, whole] = [columns.map(quoteIdentifier).join(', '), withoutOrder(trimStatementEnd(query))]
      const into = `insert into ${names.place(place)} (${list})`
      const { before, body, rest } = splitQuery(whole)
      if (before === '') return [plainSql(`${into}\n${whole}`)]
      // Only a SELECT may follow WITH, and a table created from a query needs column names.
      return [
        plainSql(
          `create table ${temporaryTable}${heapStorage} as\n${before}select ${list} from (\n${body}\n) as user_query(${list}) ${rest}`,
        ),
        plainSql(`${into} select ${list} from ${temporaryTable}`),
        plainSql(`drop table ${temporaryTable}`),
      ]
    },
    // Takes the publish lock by updating a row, which blocks other transactions that update it. Synapse has no
    // sp_getapplock.
    lockLedger: () => [plainSql(`update ${names.ledger('turn')} set part = 1 - part`)],
    ledgerOptions: heapStorage,
  }
}

const keptAs = (columns: readonly NewColumn[]): string =>
  columns.some(({ type }) => type.endsWith('(max)')) ? heapStorage : columnStore
