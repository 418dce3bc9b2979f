import { type SwitchClientBody, identityOperations } from '@sluice/contracts'
import { type IdentityRequestContext, operation } from '../operation.ts'
import { readSession } from './read-session.ts'
import { type Transaction, sql } from 'kysely'
import { problems } from '@sluice/http-server'
import type { DB } from '../../database.ts'

/**
 * Lets a super admin act for another client in this session. It issues no new tokens: every request reads the session's
 * client, so existing tokens follow the switch.
 */
async function switchClient(
  { clientId }: SwitchClientBody,
  { write, caller, request }: IdentityRequestContext,
): Promise<void> {
  const client = clientId.toLowerCase()
  await write(async (trx) => {
    await assertClientEnabled(trx, client)
    await assertSuperAdmin(trx, caller.uid)
    const { rows } = await sql<{ before: string }>`
      update sessions set client = ${client} where uid = ${caller.session} and ended_at is null
      returning old.client as before`.execute(trx)
    if (!rows[0]) throw problems.unauthenticated('The session has ended. Sign in again.')
    request.audit(caller.session, { before: { client: rows[0].before }, after: { client } })
  })
}

/** Locks the client, because disabling it concurrently would miss this session. */
async function assertClientEnabled(trx: Transaction<DB>, client: string): Promise<void> {
  const { rows } = await sql<{ disabled: boolean }>`
    select disabled from clients where uid = ${client} for share`.execute(trx)
  if (!rows[0]) throw problems.refused('/clientId', 'The client does not exist.')
  if (rows[0].disabled) throw problems.refused('/clientId', 'This client is disabled. Enable it first.')
}

/** Locks the user, because removing the role concurrently would miss a session that enters another client. */
async function assertSuperAdmin(trx: Transaction<DB>, user: string): Promise<void> {
  const { rows } = await sql`
    select from users where uid = ${user} and 'ROLE_SUPER_ADMIN' = any (roles) for share`.execute(trx)
  if (rows.length === 0) throw problems.forbidden('This needs ROLE_SUPER_ADMIN.')
}

export const sessionOperations = {
  read: operation(identityOperations.session.read, (input) => readSession(input)),

  switchClient: operation(identityOperations.session.switchClient, async (input) => {
    await switchClient(input.body, input)
    return readSession(input)
  }),
}
