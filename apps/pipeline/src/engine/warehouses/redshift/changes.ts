import { withoutEnd } from '../../../sql-text.ts'
import type { Changes } from '../sql-warehouse/sql-dialect.ts'
import { plain } from '../sql-warehouse/sql.ts'
import type { Place } from '../views.ts'
import type { ClientAccess } from './redshift-settings.ts'
import { names } from './names.ts'

/** What publications take turns by. */
export const turnstile = 'publishing'

/** The statements of Redshift. */
export function changesOf({ logins }: ClientAccess): Changes {
  const { quoted, place: at } = names
  const load = quoted(logins.load.user)
  const both = `${load}, ${quoted(logins.read.user)}`
  return {
    createSchema: (schema) => [
      plain(`create schema if not exists ${quoted(schema)}`),
      plain(`grant usage on schema ${quoted(schema)} to ${both}`),
      plain(`alter default privileges in schema ${quoted(schema)} grant select on tables to ${both}`),
    ],
    dropSchema: (schema) => [plain(`drop schema if exists ${quoted(schema)}`)],
    createTable: (place, columns) =>
      plain(
        `create table ${at(place)} (${columns.map(({ name, type, nullable }) => `${quoted(name)} ${type}${nullable ? '' : ' not null'}`).join(', ')})`,
      ),
    dropTable: (place) => plain(`drop table if exists ${at(place)}`),
    dropColumn: (place, column) => plain(`alter table ${at(place)} drop column ${quoted(column)}`),
    dropView: (place) => plain(`drop view if exists ${at(place)}`),
    rename: (from, to) => plain(`alter table ${at(from)} rename to ${quoted(to)}`),
    // Read with its owner's rights, who is the client's user and no more. Names without a schema are looked for in its own.
    createView: (place, text) => [
      plain(`set search_path to ${quoted(place.schema)}`),
      plain(`create view ${at(place)} as\n${withoutEnd(text)}`),
      plain(`alter table ${at(place)} owner to ${load}`),
      ...granted(place, 'select', both),
    ],
    insert: (place, columns, query) => [
      plain(`insert into ${at(place)} (${columns.map(quoted).join(', ')})\n${withoutEnd(query)}`),
    ],
    grant: (place, to) =>
      to === 'FILL'
        ? [...granted(place, 'select', both), ...granted(place, 'insert, update, delete', load)]
        : [plain(`revoke insert, update, delete on ${at(place)} from ${both}`), ...granted(place, 'select', both)],
    lockLedger: () => [plain(`lock table ${names.ledger(turnstile)}`)],
  }
}

const granted = (place: Place, rights: string, to: string) => [
  plain(`grant ${rights} on table ${names.place(place)} to ${to}`),
]
