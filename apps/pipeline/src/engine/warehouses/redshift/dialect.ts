import type { Dialect } from '../dialects/dialect.ts'
import type { ClientAccess } from './access.ts'
import { catalogueOf } from './catalogue.ts'
import { changesOf } from './changes.ts'
import { connectionsOf } from './connections.ts'
import { names } from './names.ts'
import { pour, sweep } from './pour.ts'
import { explain, explainQuery } from './problems.ts'
import { provision } from './provision.ts'
import { openSession } from './session.ts'
import { types } from './types.ts'

/** One client's part of a Redshift cluster: a database of its own. */
export function redshiftDialect(access: ClientAccess): Dialect {
  const connections = connectionsOf(access)
  return {
    names,
    types,
    catalogue: catalogueOf(access),
    changes: changesOf(access),
    publication: 'TRANSACTION',
    bareNames: 'PATH',
    open: (opening) => openSession(connections, opening),
    provision: () => provision(access),
    pour: (filling, content, signal) => pour(access, connections, filling, content, signal),
    sweep: (alive) => sweep(access, alive),
    explain,
    explainQuery,
    page(place, columns, { limit, offset, order }) {
      const list = (some: readonly string[]) => some.map(names.quoted).join(', ')
      const inOrder = order.length > 0 ? ` order by ${list(order)}` : ''
      return `select ${list(columns)} from ${names.place(place)}${inOrder} limit ${limit} offset ${offset}`
    },
  }
}
