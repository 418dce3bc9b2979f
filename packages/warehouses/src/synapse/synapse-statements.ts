import type { DialectStatements, NewColumn } from '../sql-warehouse/sql-dialect.ts'
import { plainSql } from '../sql-warehouse/sql-statement.ts'
import { trimStatementEnd } from '../sql-text/sql-tokens.ts'
import type { TablePlace } from '../catalog.ts'
import type { ClientAccess } from '../tsql/tsql-settings.ts'
import { changesOf, columnText, viewOwner, viewText, withoutOrder } from '../tsql/statements/tsql-statements.ts'
import { quoteIdentifier, formatLiteral, namesOf } from '../tsql/sql-identifiers.ts'
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
  const dropIfExists = (kind: 'table' | 'view', place: TablePlace) => {
    const objectType = kind === 'table' ? 'U' : 'V'
    const name = names.place(place)
    return plainSql(`if object_id(${formatLiteral(name)}, N'${objectType}') is not null drop ${kind} ${name}`)
  }
  const shared = changesOf(access, ownedViews)
  /**
   * Returns the statement that changes the owner of a schema to the user without rights, unless that user owns it
   * already. The schema's owner owns each object from its creation. Synapse has no transaction to hide a view between
   * its creation by Sluice's user and a change of its owner. In between, the view would show everything that Sluice's
   * user may read: the data of all organisations.
   */
  const transferSchema = (schema: string) => {
    if (!ownedViews()) return []
    const name = `${access.prefix}${schema}`
    const owner = viewOwner(access.key)
    const transfer = plainSql(`alter authorization on schema::${quoteIdentifier(name)} to ${quoteIdentifier(owner)}`)
    // Grants the rights again, because changing a schema's owner may revoke them. The first statement of
    // `createSchema` creates the schema, and the others grant rights.
    const [, ...grants] = shared.createSchema(schema)
    // These statements have no values, so their texts are all of their SQL.
    const transferAndGrants = [transfer, ...grants].map(({ texts }) => texts.join('')).join('; ')
    // If the owner does not exist, this condition is true, so the statement fails instead of doing nothing.
    const otherOwner = `select 1 from sys.schemas where name = ${formatLiteral(name)} and principal_id <> isnull(user_id(${formatLiteral(owner)}), 0)`
    return [plainSql(`if exists (${otherOwner}) exec(${formatLiteral(transferAndGrants)})`)]
  }
  const buildViewStatements = (verb: 'create' | 'alter', place: TablePlace, text: string) => {
    assertOwnNames(text, access.prefix)
    // Changes the schema's owner first, for schemas that an earlier version created.
    return [...transferSchema(place.schema), viewText(verb, names.place(place), text)]
  }
  return {
    ...shared,
    createSchema(schema) {
      const [create, ...grants] = shared.createSchema(schema)
      return [create!, ...transferSchema(schema), ...grants]
    },
    createView: (place, text) => buildViewStatements('create', place, text),
    changeView: (place, text) => buildViewStatements('alter', place, text),
    dropSchema(schema) {
      const name = `${access.prefix}${schema}`
      const drop = formatLiteral(`drop schema ${quoteIdentifier(name)}`)
      return [plainSql(`if schema_id(${formatLiteral(name)}) is not null exec(${drop})`)]
    },
    createTable: (place, columns) =>
      plainSql(`create table ${names.place(place)} (${columns.map(columnText).join(', ')})${storageOptions(columns)}`),
    dropTable: (place) => dropIfExists('table', place),
    dropView: (place) => dropIfExists('view', place),
    rename: (from, to) => plainSql(`rename object ${names.place(from)} to ${quoteIdentifier(to)}`),
    insert(place, columns, query) {
      const list = columns.map(quoteIdentifier).join(', ')
      const insertInto = `insert into ${names.place(place)} (${list})`
      const unorderedQuery = withoutOrder(trimStatementEnd(query))
      const { withClause, body, optionClause } = splitQuery(unorderedQuery)
      if (withClause === '') return [plainSql(`${insertInto}\n${unorderedQuery}`)]
      // Synapse accepts only a SELECT after WITH, so the query first creates a temporary table. A table created from a
      // query needs column names.
      return [
        plainSql(
          `create table ${temporaryTable}${heapStorage} as\n${withClause}select ${list} from (\n${body}\n) as user_query(${list}) ${optionClause}`,
        ),
        plainSql(`${insertInto} select ${list} from ${temporaryTable}`),
        plainSql(`drop table ${temporaryTable}`),
      ]
    },
    // Takes the publish lock by updating a row, which blocks other transactions that update it. Synapse has no
    // sp_getapplock.
    lockLedger: () => [plainSql(`update ${names.ledger('turn')} set part = 1 - part`)],
    ledgerOptions: heapStorage,
  }
}

/** Returns the storage options for a table with these columns. */
const storageOptions = (columns: readonly NewColumn[]): string =>
  columns.some(({ type }) => type.endsWith('(max)')) ? heapStorage : columnStore
