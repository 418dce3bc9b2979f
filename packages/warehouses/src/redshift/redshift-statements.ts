import { trimStatementEnd } from '../sql-text/sql-tokens.ts'
import type { DialectStatements } from '../sql-warehouse/sql-dialect.ts'
import { plainSql } from '../sql-warehouse/sql-statement.ts'
import type { TablePlace } from '../catalog.ts'
import type { ClientAccess } from './redshift-settings.ts'
import { redshiftNames } from './sql-identifiers.ts'

/** The table with the publish lock, which lets only one publication run at a time. */
export const lockTable = 'publishing'

/** Returns the functions that build Redshift's statements for one organisation's database. */
export function redshiftStatements({ logins }: ClientAccess): DialectStatements {
  const { quoted, place: qualified } = redshiftNames
  const load = quoted(logins.load.user)
  const bothLogins = `${load}, ${quoted(logins.read.user)}`
  return {
    createSchema: (schema) => [
      plainSql(`create schema if not exists ${quoted(schema)}`),
      plainSql(`grant usage on schema ${quoted(schema)} to ${bothLogins}`),
      plainSql(`alter default privileges in schema ${quoted(schema)} grant select on tables to ${bothLogins}`),
    ],
    dropSchema: (schema) => [plainSql(`drop schema if exists ${quoted(schema)}`)],
    createTable: (place, columns) =>
      plainSql(
        `create table ${qualified(place)} (${columns.map(({ name, type, nullable }) => `${quoted(name)} ${type}${nullable ? '' : ' not null'}`).join(', ')})`,
      ),
    dropTable: (place) => plainSql(`drop table if exists ${qualified(place)}`),
    dropColumn: (place, column) => plainSql(`alter table ${qualified(place)} drop column ${quoted(column)}`),
    dropView: (place) => plainSql(`drop view if exists ${qualified(place)}`),
    rename: (from, to) => plainSql(`alter table ${qualified(from)} rename to ${quoted(to)}`),
    // The organisation's user becomes the owner of the view, because a view reads with the rights of its owner.
    // Unqualified names resolve in the view's schema.
    createView: (place, text) => [
      plainSql(`set search_path to ${quoted(place.schema)}`),
      plainSql(`create view ${qualified(place)} as\n${trimStatementEnd(text)}`),
      plainSql(`alter table ${qualified(place)} owner to ${load}`),
      ...grantTableRights(place, 'select', bothLogins),
    ],
    insert: (place, columns, query) => [
      plainSql(`insert into ${qualified(place)} (${columns.map(quoted).join(', ')})\n${trimStatementEnd(query)}`),
    ],
    // FILL lets the role `load` write the table, READ lets both roles only read it.
    grant: (place, to) =>
      to === 'FILL'
        ? [...grantTableRights(place, 'select', bothLogins), ...grantTableRights(place, 'insert, update, delete', load)]
        : [
            plainSql(`revoke insert, update, delete on ${qualified(place)} from ${bothLogins}`),
            ...grantTableRights(place, 'select', bothLogins),
          ],
    lockLedger: () => [plainSql(`lock table ${redshiftNames.ledger(lockTable)}`)],
  }
}

const grantTableRights = (place: TablePlace, rights: string, to: string) => [
  plainSql(`grant ${rights} on table ${redshiftNames.place(place)} to ${to}`),
]
