import type { Dialect } from '../dialects/dialect.ts'
import { openDialectWarehouse } from '../dialects/open-warehouse.ts'
import type { Warehouse } from '../warehouse.ts'
import type { ClientAccess } from '../tsql/access.ts'
import { orderText, tsqlDialect } from '../tsql/dialect.ts'
import { bracketed } from '../tsql/names.ts'
import { aroundOf, columnName } from '../tsql/ordered.ts'
import { synapseCatalogueOf } from './catalogue.ts'
import { synapseChangesOf } from './changes.ts'
import { demandSnapshots } from './snapshots.ts'

/** Longer than any name of users. */
const rowPlace = bracketed('place'.padEnd(64, '~'))

/** One client's part of a dedicated SQL pool of Azure Synapse. */
export function synapseDialect(access: ClientAccess): Dialect {
  const shared = tsqlDialect(access, synapseChangesOf)
  return {
    ...shared,
    catalogue: synapseCatalogueOf(access),
    publication: 'SETTLED',
    async provision() {
      await shared.provision()
      await demandSnapshots(access)
    },
    // There is no OFFSET.
    page(place, columns, { limit, offset, order }) {
      const list = columns.map(bracketed).join(', ')
      const numbered = `select ${list}, row_number() over (order by ${orderText(order)}) as ${rowPlace} from ${shared.names.place(place)}`
      return `select ${list} from (${numbered}) as numbered where ${rowPlace} between ${offset + 1} and ${offset + Math.max(1, limit)} order by ${rowPlace}`
    },
    numbered(query, columns) {
      const { before, from, by, behind } = aroundOf(query, columns)
      if (by === '') return undefined
      const list = columns.map((_column, index) => columnName(index)).join(', ')
      return `${before}select ${list}, row_number() over (order by ${by}) as n from ${from} ${behind}`
    },
  }
}

export const openSynapseWarehouse = (access: ClientAccess): Warehouse => openDialectWarehouse(synapseDialect(access))
