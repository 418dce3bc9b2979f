import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import type { IdentityLookups } from '../../identity/identity-lookups.ts'
import type { MaintenanceJob } from './maintenance.ts'

interface PublisherOptions {
  db: Kysely<DB>
  identity: Pick<IdentityLookups, 'letPublish'>
}

/**
 * After the upgrade that made the domain `PUBLIC_DATASET_CATALOG` required for publishing, the identity service adds this
 * domain once to each client that had already published datasets.
 */
export function addDomainToDatasetPublishers({ db, identity }: PublisherOptions): MaintenanceJob {
  return {
    name: 'dataset publishers',
    async run() {
      const rows = await db.selectFrom('dataset_publishers').select('client').limit(1000).execute()
      if (rows.length === 0) return 0
      const clients = rows.map(({ client }) => client)
      await identity.letPublish(clients)
      await db.deleteFrom('dataset_publishers').where('client', 'in', clients).execute()
      return clients.length
    },
  }
}
