import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import type { IdentityLookups } from '../../identity/identity-lookups.ts'
import type { MaintenanceJob } from './maintenance.ts'

interface PublisherOptions {
  db: Kysely<DB>
  identity: Pick<IdentityLookups, 'letPublish'>
}

/**
 * Grants the domain `PUBLIC_DATASET_CATALOG`, which publishing datasets now requires, to organisations that published
 * datasets before that requirement. The identity service adds the domain once to each.
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
