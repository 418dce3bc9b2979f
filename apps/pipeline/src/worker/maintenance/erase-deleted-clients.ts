import { recordAudit } from '@sluice/database'
import type { Logger } from '@sluice/process'
import type { Kysely } from 'kysely'
import { catalogueClient } from '../../warehouses/public-dataset-owner.ts'
import type { DB } from '../../database.ts'
import type { IdentityLookups } from '../../identity/identity-lookups.ts'
import { eraseAfterDays, eraseBulkData, eraseClientRows, listClientsWithData } from '../../erasure/erase-client.ts'
import type { WarehouseReaders } from '../../warehouse-readers/warehouse-readers.ts'
import type { ClientWarehouses } from '../../warehouses/client-warehouses.ts'
import type { MaintenanceJob } from './maintenance.ts'

interface ErasureOptions {
  db: Kysely<DB>
  warehouses: ClientWarehouses
  readers: Pick<WarehouseReaders, 'drop'>
  filesDirectory: string
  identity: Pick<IdentityLookups, 'deletedClients'>
  logger: Logger
  now?: () => Date
}

const msPerHour = 3_600_000
const msPerDay = 24 * msPerHour

/**
 * Once an hour, erases the data of organisations that were deleted at least 30 days ago. Keeps the data of an
 * organisation unless the identity service reports it as deleted.
 */
export function eraseDeletedClients({
  identity,
  logger,
  now = () => new Date(),
  ...services
}: ErasureOptions): MaintenanceJob {
  let checkedAt = -Infinity
  return {
    name: 'deleted clients',
    async run(signal) {
      if (performance.now() - checkedAt < msPerHour) return 0
      checkedAt = performance.now()
      const clientsWithData = (await listClientsWithData(services.db)).filter((client) => client !== catalogueClient)
      if (clientsWithData.length === 0) return 0
      const latestDeletionMs = now().getTime() - eraseAfterDays * msPerDay
      const clientsToErase = (await identity.deletedClients(clientsWithData)).filter(
        ({ deleted }) => Date.parse(deleted) <= latestDeletionMs,
      )
      for (const { id: client, code } of clientsToErase) {
        signal.throwIfAborted()
        await eraseBulkData(services, client)
        await services.db.transaction().execute(async (trx) => {
          const erasedCounts = await eraseClientRows(trx, client)
          await recordAudit(trx, {
            operation: 'deletedClients.erase',
            actor: null,
            client: null,
            object: client,
            requestId: 'maintenance',
            address: 'local',
            details: { code, erased: erasedCounts },
          })
        })
        logger.info({ client, code }, 'erased the data of a deleted client')
      }
      return clientsToErase.length
    },
  }
}
