import { sql } from 'kysely'
import {
  identityOperations,
  type ClientSummary,
  type DeletedClientSummary,
  type UserGroupSummary,
  type UserSummary,
} from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import { toSkeleton } from '../../sign-in/username.ts'
import { findPrincipal } from '../../sign-in/sessions/principal.ts'
import { defineIdentityOperation } from '../operation-context.ts'

const { lookups } = identityOperations

/**
 * Endpoints where the pipeline service looks up principals, users, groups and organisations. Unknown ids are omitted
 * from the response.
 */
export const lookupOperations = {
  standing: defineIdentityOperation(lookups.standing, async ({ db, body }) => {
    const principal = await findPrincipal(db, body)
    if (!principal) throw problems.notFound('session, application or token')
    return principal
  }),

  users: defineIdentityOperation(lookups.users, async ({ db, body }) => {
    const { rows } = await sql<UserSummary>`
      select uid as id, client, username, name, status from users where uid = any(${body.ids})
      union all
      select uid, client, sso_client_id, client_name, 'ACTIVE' from sso_client_configs
      where uid = any(${body.ids}) and client is not null
      order by id`.execute(db)
    return rows
  }),

  userGroups: defineIdentityOperation(lookups.userGroups, async ({ db, body }) => {
    const { rows } = await sql<UserGroupSummary>`
      select uid as id, client, name, code from user_groups where uid = any(${body.ids}) order by id`.execute(db)
    return rows
  }),

  principals: defineIdentityOperation(lookups.principals, async ({ db, body }) => {
    const { client, usernames, userGroupCodes } = body
    const skeletons = usernames.map(toSkeleton)
    const users = await sql<UserSummary>`
      select uid as id, client, username, name, status from users
      where client = ${client} and username_skeleton = any(${skeletons}) and username = any(${usernames})
      union all
      select uid, client, sso_client_id, client_name, 'ACTIVE' from sso_client_configs
      where client = ${client} and sso_client_id = any(${usernames})
      order by id limit 1000`.execute(db)
    const userGroups = await sql<UserGroupSummary>`
      select uid as id, client, name, code from user_groups where client = ${client} and code = any(${userGroupCodes})
      order by id limit 1000`.execute(db)
    return { users: users.rows, userGroups: userGroups.rows }
  }),

  clients: defineIdentityOperation(lookups.clients, async ({ db, body }) => {
    const { rows } = await sql<ClientSummary>`
      select uid as id, code, name, disabled, domain, pipelines_enabled as "pipelinesEnabled",
        coalesce(time_zone, 'UTC') as "timeZone"
      from clients where uid = any(${body.ids}) order by id`.execute(db)
    return rows
  }),

  datasetPublishers: defineIdentityOperation(lookups.datasetPublishers, async ({ body, write, request }) => {
    await write(async (trx) => {
      const { rows } = await sql<{ uid: string }>`
        update clients set domain = 'PUBLIC_DATASET_CATALOG', version = version + 1, updated_at = now(), updated_by = null
        where uid = any(${body.ids}) and domain = 'REGULAR' returning uid`.execute(trx)
      for (const { uid } of rows)
        request.audit(uid, { before: { domain: 'REGULAR' }, after: { domain: 'PUBLIC_DATASET_CATALOG' } })
    })
    return undefined
  }),

  deletedClients: defineIdentityOperation(lookups.deletedClients, async ({ db, body }) => {
    const { rows } = await sql<Omit<DeletedClientSummary, 'deleted'> & { deleted: Date }>`
      select uid as id, code, name, deleted_at as deleted from deleted_clients where uid = any(${body.ids})
      order by id`.execute(db)
    return rows.map(({ deleted, ...client }) => ({ ...client, deleted: deleted.toISOString() }))
  }),
}
