import type { Client, ClientBody } from '@sluice/contracts'
import { problems } from '@sluice/http'
import type { Asked } from '../operation.ts'
import { clientColumns, clientOf, clientRecords, type ClientRow } from './records.ts'

/** What the operator of the installation decides about a client, and not the client. */
const decidedElsewhere = [
  'code',
  'billingCode',
  'disabled',
  'domain',
  'managerEnabled',
  'routesEnabled',
  'pipelinesEnabled',
  'enterpriseEnabled',
] as const satisfies (keyof Client & keyof ClientBody)[]

/** Changes what a client's own administrators may say of it. 403 names what else the body would change. */
export async function updateClientProfile(
  uid: string,
  body: ClientBody,
  { write, caller, request }: Asked,
): Promise<ClientRow> {
  return write(async (trx) => {
    const before = await clientRecords.lock(trx, caller, uid, request.ifMatch)
    demandUnchanged(clientOf(before, []), body)
    const after = await clientRecords.update(trx, caller, before, profileColumns(body))
    request.audit(before.uid, { before: clientOf(before, []), after: clientOf(after, []) })
    return after
  })
}

function demandUnchanged(client: Client, body: ClientBody): void {
  const changed = decidedElsewhere.filter((name) => client[name] !== body[name])
  if (changed.length > 0) throw problems.forbidden(`Only a super admin may change this: ${changed.join(', ')}.`)
}

function profileColumns(body: ClientBody) {
  const columns = clientColumns(body)
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
