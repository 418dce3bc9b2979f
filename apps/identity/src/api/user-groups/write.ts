import type { Transaction } from 'kysely'
import type { UserGroupBody } from '@sluice/contracts'
import { problems } from '@sluice/http'
import type { DB } from '../../database.ts'
import { clientFor } from '../clients/client-for.ts'
import type { Asked } from '../operation.ts'
import type { UserGroupRow } from './row.ts'

/** How a body becomes a row: see `recordOperations`. Deleting a group takes its memberships with it. */
export const userGroupWriting = {
  check: async () => {},
  columns: async (
    trx: Transaction<DB>,
    body: UserGroupBody,
    current: UserGroupRow | undefined,
    { caller }: Asked,
  ): Promise<object> => ({
    name: body.name,
    translations: JSON.stringify(body.translations ?? []),
    code: body.code,
    description: body.description ?? null,
    ...(current ? sameClient(body, current) : { client: await clientFor(trx, caller, body.client?.id) }),
  }),
  beforeDelete: async () => {},
  afterDelete: async () => {},
}

/** Members are of the group's client, so a group stays where it is. */
function sameClient({ client }: UserGroupBody, current: UserGroupRow): object {
  if (client && client.id.toLowerCase() !== current.client)
    throw problems.refused('/client/id', 'A user group stays with its client: make a new one there.')
  return {}
}
