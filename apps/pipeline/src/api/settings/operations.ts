import { type Setting, type SettingBody, type SettingKey, pipelineOperations, settingKeys } from '@sluice/contracts'
import { JsonResponse, type OperationInput, etagOf, problems } from '@sluice/http-server'
import { assertUnchanged } from '@sluice/records'
import { type Kysely, type Selectable, sql } from 'kysely'
import { mailableAddress } from '@sluice/mail/settings'
import type { DB, Settings } from '../../database.ts'
import {
  formatAlertSetting,
  maxNoSuccessHours,
  noMailServer,
  parseAlertSetting,
  settingDefaults,
} from '../../settings.ts'
import { type PipelineContext, operation } from '../operation.ts'

const { settings: signatures } = pipelineOperations

type SettingRequest<Body> = OperationInput<PipelineContext, '/settings/:key', undefined, Body>

export const settingOperations = {
  list: operation(signatures.list, async ({ db, caller, mails }): Promise<Setting[]> => {
    const rows = await db.selectFrom('settings').selectAll().where('client', '=', caller.client).execute()
    return settingKeys.map((key) =>
      present(
        caller.client,
        key,
        rows.find((row) => row.key === key),
        mails,
      ),
    )
  }),

  read: operation(signatures.read, async ({ db, caller, params, mails }: SettingRequest<undefined>) => {
    const key = keyOf(params.key)
    return answer(caller.client, key, await find(db, caller.client, key), mails)
  }),

  update: operation(
    signatures.update,
    async ({ caller, params, body, request, write, mails }: SettingRequest<SettingBody>) => {
      const key = keyOf(params.key)
      if (body.key !== undefined && body.key !== key)
        throw problems.refused('/key', `The address is that of ${key}: change ${body.key} at its own.`)
      const value = settingValue[key](body.value)
      const row = await write(async (trx) => {
        // A setting with its default value has no row to lock.
        await sql`select pg_advisory_xact_lock(hashtext(${`settings:${caller.client}`}))`.execute(trx)
        const before = await find(trx, caller.client, key)
        const { ifMatch } = request
        if (ifMatch !== undefined && ifMatch !== (before?.version ?? 0)) throw problems.stale()
        assertUnchanged(before && body.lastUpdated, before?.updated_at ?? new Date(), [
          {
            pointer: '/client',
            given: body.client?.toLowerCase(),
            stored: caller.client,
            instead: 'A setting is of the client that you act for: switch to the other client to change its own.',
          },
        ])
        const after = await trx
          .insertInto('settings')
          .values({ client: caller.client, key, value, created_by: caller.uid, updated_by: caller.uid })
          .onConflict((conflict) =>
            conflict.columns(['client', 'key']).doUpdateSet({
              value,
              version: sql`settings.version + 1`,
              updated_at: sql`now()`,
              updated_by: caller.uid,
            }),
          )
          .returningAll()
          .executeTakeFirstOrThrow()
        request.audit(after.uid, { before: before?.value ?? settingDefaults[key], after: value, key })
        return after
      })
      return answer(caller.client, key, row, mails)
    },
  ),
}

type SettingRow = Selectable<Settings>

function keyOf(text: string): SettingKey {
  const key = settingKeys.find((one) => one === text)
  if (!key) throw problems.notFound('setting')
  return key
}

function find(db: Kysely<DB>, client: string, key: SettingKey): Promise<SettingRow | undefined> {
  return db.selectFrom('settings').selectAll().where('client', '=', client).where('key', '=', key).executeTakeFirst()
}

const answer = (client: string, key: SettingKey, row: SettingRow | undefined, mails: boolean) =>
  new JsonResponse(present(client, key, row, mails), { ETag: etagOf(row?.version ?? 0) })

const present = (client: string, key: SettingKey, row: SettingRow | undefined, mails: boolean): Setting => ({
  ...(row && {
    id: row.uid,
    created: row.created_at.toISOString(),
    lastUpdated: row.updated_at.toISOString(),
  }),
  client,
  key,
  value: row?.value ?? settingDefaults[key],
  ...(key === 'ALERT_EMAIL' && row?.value && !mails && { warning: noMailServer }),
})

const mostAddresses = 50
const isAddressLike = (entry: string) => /^[^\s@,;:<>"()[\]\\\p{Cc}]+@[\p{L}\p{M}\p{N}.-]+$/u.test(entry)

const oneOf =
  (...values: string[]) =>
  (value: string): string => {
    if (!values.includes(value)) throw refused(`${shown(value)} is neither ${values.join(' nor ')}.`)
    return value
  }

/** Validates each setting and returns its stored form. Throws 422 for an invalid value. */
const settingValue: Readonly<Record<SettingKey, (value: string) => string>> = {
  ALERT_EMAIL: alertEmail,
  DEFAULT_ACCESS_LEVEL: oneOf('PUBLIC', 'PRIVATE'),
  DATA_PIPELINE_ERROR_ACTION_STAGING_TABLES: oneOf('CLEAN_UP', 'RETAIN'),
  RETAIN_TEMP_FILES: oneOf('true', 'false'),
  THEME: theme,
}

function alertEmail(value: string): string {
  if (value.trim() === '') return ''
  const empty = value.split(',').some((part) => part.trim() === '')
  if (empty) throw refused('There is an empty entry between two commas, or before or after one. Remove the comma.')
  const setting = parseAlertSetting(value)
  const wrong = setting.addresses.find((part) => !isAddressLike(part))
  if (wrong !== undefined)
    throw refused(
      `${shown(wrong)} is not an e-mail address. Put commas between several; besides addresses there are WARNING and NO_SUCCESS_24_HOURS (any number of hours).`,
    )
  const unmailable = setting.addresses.find((part) => mailableAddress(part) === undefined)
  if (unmailable !== undefined)
    throw refused(
      `Mail cannot be sent to ${shown(unmailable)}: use up to 64 unaccented letters, digits and signs before the @, and a valid domain after it.`,
    )
  const { noSuccessHours: hours } = setting
  if (hours !== undefined && (hours < 1 || hours > maxNoSuccessHours))
    throw refused(`NO_SUCCESS_${hours}_HOURS: the number of hours is from 1 to ${maxNoSuccessHours}.`)
  if (setting.addresses.length === 0) throw refused('No address for mail is set. Add an address.')
  if (new Set(setting.addresses).size > mostAddresses)
    throw refused(`At most ${mostAddresses} addresses are written to.`)
  return formatAlertSetting(setting)
}

function theme(value: string): string {
  if (!/^[\w-]{0,64}$/.test(value))
    throw refused('A theme is named by up to 64 letters, digits, underscores and hyphens.')
  return value
}

const shown = (value: string) => JSON.stringify(value.slice(0, 80))

const refused = (detail: string) => problems.refused('/value', detail)
