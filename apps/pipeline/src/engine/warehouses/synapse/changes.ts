import type { Changes, MadeColumn } from '../dialects/dialect.ts'
import { plain } from '../dialects/sql.ts'
import { withoutEnd } from '../../../sql-text.ts'
import type { Place } from '../views.ts'
import type { ClientAccess } from '../tsql/access.ts'
import { changesOf, columnText, withoutOrder } from '../tsql/changes.ts'
import { bracketed, literal, namesOf } from '../tsql/names.ts'
import { piecesOf } from '../tsql/one-query.ts'

/** How a table is kept that has texts of any length, which a column store does not take; and one that is small. */
const heap = ' with (heap, distribution = round_robin)'
const columnStore = ' with (clustered columnstore index, distribution = round_robin)'

/** Of this session alone. */
const passing = '[#sluice]'

/** The statements of a dedicated SQL pool, where they are not those of SQL Server. */
export function synapseChangesOf(access: ClientAccess, ownedViews: () => boolean): Changes {
  const names = namesOf(access)
  const dropped = (kind: 'U' | 'V', place: Place) =>
    plain(
      `if object_id(${literal(names.place(place))}, N'${kind}') is not null drop ${kind === 'U' ? 'table' : 'view'} ${names.place(place)}`,
    )
  return {
    ...changesOf(access, ownedViews),
    dropSchema(schema) {
      const name = `${access.prefix}${schema}`
      const drop = literal(`drop schema ${bracketed(name)}`)
      return [plain(`if schema_id(${literal(name)}) is not null exec(${drop})`)]
    },
    createTable: (place, columns) =>
      plain(`create table ${names.place(place)} (${columns.map(columnText).join(', ')})${keptAs(columns)}`),
    dropTable: (place) => dropped('U', place),
    dropView: (place) => dropped('V', place),
    rename: (from, to) => plain(`rename object ${names.place(from)} to ${bracketed(to)}`),
    insert(place, columns, query) {
      const [list, whole] = [columns.map(bracketed).join(', '), withoutOrder(withoutEnd(query))]
      const into = `insert into ${names.place(place)} (${list})`
      const { before, body, behind } = piecesOf(whole)
      if (before === '') return [plain(`${into}\n${whole}`)]
      // WITH stands before SELECT alone, and a table that is made of one wants names.
      return [
        plain(
          `create table ${passing}${heap} as\n${before}select ${list} from (\n${body}\n) as asked(${list}) ${behind}`,
        ),
        plain(`${into} select ${list} from ${passing}`),
        plain(`drop table ${passing}`),
      ]
    },
    // Whoever changes a row keeps everybody else from it until their transaction ends: there is no sp_getapplock.
    lockLedger: () => [plain(`update ${names.ledger('turn')} set part = 1 - part`)],
    ledgerOptions: heap,
  }
}

const keptAs = (columns: readonly MadeColumn[]): string =>
  columns.some(({ type }) => type.endsWith('(max)')) ? heap : columnStore
