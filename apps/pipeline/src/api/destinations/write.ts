import { randomUUID } from 'node:crypto'
import type { Transaction } from 'kysely'
import { connectorTypes, type DestinationBody, hasRole } from '@sluice/contracts'
import { type Caller, problems } from '@sluice/http-server'
import { type RecordWriter, visibleTo } from '@sluice/records'
import type { KeyRing } from '@sluice/database'
import type { DB } from '../../database.ts'
import { prepareDeletion } from '../assert-not-in-use.ts'
import type { PipelineContext } from '../operation-context.ts'
import { assertSchedule, toScheduleColumns } from '../schedule-fields.ts'
import { toAccessColumnsWithDefault, assertSharingTargets } from '../object-access.ts'
import { type DestinationRow, destinationRecords } from './records.ts'
import {
  type TargetSettings,
  unsealTargetSecrets,
  isSameTarget,
  sealTargetSecrets,
} from '../../destinations/push-target.ts'
import { mergeSecretTimes } from '../../secrets/secret-status.ts'
import { mergeSecrets, selectSentSecrets } from '../merge-secrets.ts'
import type { BulkSaveDefinition } from '../bulk-saves/save-by-name.ts'

export const destinationWriting: RecordWriter<PipelineContext, DestinationRow, DestinationBody> = {
  async check(body, input) {
    assertSchedule(body)
    const { settings } = parseTargetBody(body)
    const url = urlOf(settings)
    if (!URL.canParse(url) || /[?#@]/.test(url.replace(/^https?:\/\//, '')))
      throw problems.refused(
        'apiTarget' in settings ? '/apiTarget/url' : '/apiTokenTarget/url',
        'This is not the address of a DHIS2 server. Write it like https://dhis2.example.org/dhis, without username, ? and #.',
      )
    await assertSharingTargets(body.access, input)
  },

  async columns(trx, body, current, { caller, keyRing }) {
    const uid = current?.uid ?? randomUUID()
    return {
      ...(current ? {} : { uid, client: caller.client }),
      type: body.type ?? connectorTypes.dhis2,
      view_id: await lockViewToPush(trx, body, current, caller),
      name: body.name,
      translations: JSON.stringify(body.translations ?? []),
      description: body.description ?? null,
      ...toScheduleColumns(body),
      import_options: JSON.stringify(body.importOptions ?? {}),
      ...toTargetColumns(body, uid, current, keyRing),
      ...(await toAccessColumnsWithDefault(trx, body.access, current, caller.client)),
    }
  },

  async beforeDelete(trx, { id, client }, { caller }) {
    await prepareDeletion(trx, caller, { kind: 'DESTINATION', id, client })
  },

  async afterDelete() {},
}

export const destinationBulkSave: BulkSaveDefinition<DestinationRow, DestinationBody> = {
  records: destinationRecords,
  writing: destinationWriting,
}

/**
 * Locks the view to push and returns its primary key. Throws 422 unless the caller may read the view, or the
 * destination already pushes it to the same address.
 */
async function lockViewToPush(
  trx: Transaction<DB>,
  body: DestinationBody,
  current: DestinationRow | undefined,
  caller: Caller,
): Promise<number> {
  const uid = body.viewSource.id
  const view = await trx
    .selectFrom('views as r')
    .select(['r.id', visibleTo(caller, 'READ').as('isReadable')])
    .where('r.uid', '=', uid)
    .where('r.client', '=', caller.client)
    .forKeyShare()
    .executeTakeFirst()
  // A caller who may not read the current view can keep it, but not send it to another address.
  const isCurrentView = view !== undefined && current !== undefined && view.id === current.view_id
  const keepsViewAndAddress = isCurrentView && !changesAddress(body, current)
  const mayReadView = view?.isReadable && hasRole(caller.roles, 'ROLE_SEE_VIEW')
  if (!view || !(keepsViewAndAddress || mayReadView))
    throw problems.refused('/viewSource/id', `No view that you may read has the id ${uid}. Choose another view.`)
  return view.id
}

/**
 * Returns the columns of a target: its address in plain text, its encrypted secrets, and the time at which each secret
 * was sent. An omitted secret keeps its stored value. Throws 422 for an omitted secret if the address changes.
 */
function toTargetColumns(
  body: DestinationBody,
  uid: string,
  current: DestinationRow | undefined,
  ring: KeyRing,
): { settings: string; target_secrets: string | null; secret_times: string } {
  const { settings, sentSecrets, pointer } = parseTargetBody(body)
  const keepsSecrets = current && Object.values(sentSecrets).includes(undefined)
  const secrets = keepsSecrets
    ? mergeSecrets({
        stored: unsealTargetSecrets(current, ring),
        sentSecrets,
        addressChange: isSameTarget(urlOf(current.settings), urlOf(settings)) ? undefined : pointer,
      })
    : selectSentSecrets(sentSecrets)
  return {
    settings: JSON.stringify(settings),
    target_secrets: sealTargetSecrets(uid, secrets, ring),
    secret_times: JSON.stringify(mergeSecretTimes(secrets, sentSecrets, current?.secret_times)),
  }
}

function changesAddress(body: DestinationBody, { settings }: Pick<DestinationRow, 'settings'>): boolean {
  return !isSameTarget(urlOf(settings), urlOf(parseTargetBody(body).settings))
}

/**
 * Returns the target in a request body: its settings, its secret, and the JSON pointer of the secret. Throws 422 if the
 * body has no target or two.
 */
function parseTargetBody({ apiTarget, apiTokenTarget }: DestinationBody) {
  if (apiTarget && apiTokenTarget)
    throw problems.refused('/apiTokenTarget', 'Set either apiTarget or apiTokenTarget, but not both.')
  if (apiTokenTarget) {
    const { url, authToken } = apiTokenTarget
    const settings: TargetSettings = { apiTokenTarget: { url } }
    return { settings, sentSecrets: { authToken }, pointer: '/apiTokenTarget/authToken' }
  }
  if (!apiTarget)
    throw problems.refused(
      '/apiTarget',
      'The destination has no target. Set apiTarget with a username and a password, or apiTokenTarget with a token.',
    )
  const { url, username, password } = apiTarget
  const settings: TargetSettings = { apiTarget: { url, ...(username !== undefined && { username }) } }
  return { settings, sentSecrets: { password }, pointer: '/apiTarget/password' }
}

export const urlOf = (settings: TargetSettings): string =>
  'apiTarget' in settings ? settings.apiTarget.url : settings.apiTokenTarget.url
