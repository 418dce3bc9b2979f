import { sql } from 'kysely'
import type { Client, ClientBody } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import { endSessionsOfClient } from '../../sign-in/sessions/sessions.ts'
import type { IdentityRequestContext } from '../operation-context.ts'
import { assertSuperAdminRemainsAfter } from '../role-grant-rules.ts'
import { toClientColumns, presentClient, clientRecords, type ClientRow } from './records.ts'

export async function createClient(
  body: ClientBody,
  { write, caller, request }: IdentityRequestContext,
): Promise<ClientRow> {
  return write(async (trx) => {
    const row = await clientRecords.insert(trx, caller, toClientColumns(body))
    request.audit(row.uid, { after: presentClient(row, []) })
    return row
  })
}

/**
 * Replaces an organisation. Throws 422 for disabling the last organisation with an active super admin.
 *
 * Disabling an organisation ends the sessions of its users, after the transaction, because there may be a million.
 * Until then the service refuses them anyway. If that step fails, sessions remain. So enabling the organisation ends
 * them first: most before the transaction, because there may be many, and the rest within it.
 */
export async function updateClient(
  uid: string,
  body: ClientBody,
  { db, write, caller, request }: IdentityRequestContext,
): Promise<ClientRow> {
  const becomesEnabled = (before: ClientRow) => before.disabled && !body.disabled
  const becomesDisabled = (before: ClientRow) => !before.disabled && body.disabled
  const clientBeforeLock = await clientRecords.readToWrite(db, caller, uid, request.ifMatch)
  if (becomesEnabled(clientBeforeLock)) await endSessionsOfClient(db, clientBeforeLock.uid)
  const updatedClient = await write(async (trx) => {
    const before = await clientRecords.lock(trx, caller, uid, request.ifMatch)
    // This call ends the few sessions that are left. The lock prevents new sign-ins.
    if (becomesEnabled(before)) await endSessionsOfClient(trx, before.uid)
    const updateRow = () => clientRecords.update(trx, caller, before, toClientColumns(body))
    const after = becomesDisabled(before)
      ? await assertSuperAdminRemainsAfter(trx, '/disabled', updateRow)
      : await updateRow()
    request.audit(uid, { before: presentClient(before, []), after: presentClient(after, []) })
    return after
  })
  if (becomesDisabled(clientBeforeLock)) await endSessionsOfClient(db, updatedClient.uid)
  return updatedClient
}

/**
 * Deletes a disabled organisation that has no users, and its user groups. Records the deletion for the pipeline
 * service, which erases the organisation's data 30 days later.
 */
export async function deleteClient(uid: string, { write, caller, request }: IdentityRequestContext): Promise<void> {
  await write(async (trx) => {
    const before = await clientRecords.lock(trx, caller, uid, request.ifMatch)
    if (!before.disabled) throw problems.conflict('/disabled', 'Disable this organisation before you delete it.')
    const { rows } = await sql`select from users where client = ${before.uid} limit 1`.execute(trx)
    if (rows.length > 0) throw problems.conflict('/', 'This organisation still has users. Delete these users first.')
    await clientRecords.remove(trx, before)
    await sql`
      insert into deleted_clients (uid, code, name) values (${before.uid}, ${before.code}, ${before.name})`.execute(trx)
    request.audit(before.uid, { before: presentClient(before, []) })
  })
}

/** Fields that only the operator of the installation may change. */
const operatorFields = [
  'code',
  'billingCode',
  'disabled',
  'domain',
  'managerEnabled',
  'routesEnabled',
  'pipelinesEnabled',
  'enterpriseEnabled',
] as const satisfies (keyof Client & keyof ClientBody)[]

/**
 * Updates the fields that an organisation's own administrators may edit. Throws 403 if the body changes other fields,
 * and names these.
 */
export async function updateClientProfile(
  uid: string,
  body: ClientBody,
  { write, caller, request }: IdentityRequestContext,
): Promise<ClientRow> {
  return write(async (trx) => {
    const before = await clientRecords.lock(trx, caller, uid, request.ifMatch)
    assertOperatorFieldsUnchanged(presentClient(before, []), body)
    const after = await clientRecords.update(trx, caller, before, toProfileColumns(body))
    request.audit(before.uid, { before: presentClient(before, []), after: presentClient(after, []) })
    return after
  })
}

function assertOperatorFieldsUnchanged(client: Client, body: ClientBody): void {
  const changed = operatorFields.filter((name) => client[name] !== body[name])
  if (changed.length > 0)
    throw problems.forbidden(`Only a super admin may change ${changed.join(', ')}. Send the stored values.`)
}

/** Returns the columns of the fields that an organisation's own administrators may edit. */
function toProfileColumns(body: ClientBody) {
  const columns = toClientColumns(body)
  const { name, translations, primary_contact, technical_contact, billing_contact } = columns
  const { route_notification_email_addresses, time_zone } = columns
  return {
    name,
    translations,
    primary_contact,
    technical_contact,
    billing_contact,
    route_notification_email_addresses,
    time_zone,
  }
}
