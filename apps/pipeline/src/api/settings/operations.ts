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
} from '../../organisation-settings.ts'
import { type PipelineContext, definePipelineOperation } from '../operation-context.ts'

const { settings: signatures } = pipelineOperations

type SettingRequest<Body> = OperationInput<PipelineContext, '/settings/:key', undefined, Body>

export const settingOperations = {
  list: definePipelineOperation(signatures.list, async ({ db, caller, mails }): Promise<Setting[]> => {
    const rows = await db.selectFrom('settings').selectAll().where('client', '=', caller.client).execute()
    return settingKeys.map((key) =>
      presentSetting(
        caller.client,
        key,
        rows.find((row) => row.key === key),
        mails,
      ),
    )
  }),

  read: definePipelineOperation(signatures.read, async ({ db, caller, params, mails }: SettingRequest<undefined>) => {
    const key = parseSettingKey(params.key)
    return presentResponse(caller.client, key, await findSetting(db, caller.client, key), mails)
  }),

  update: definePipelineOperation(
    signatures.update,
    async ({ caller, params, body, request, write, mails }: SettingRequest<SettingBody>) => {
      const key = parseSettingKey(params.key)
      if (body.key !== undefined && body.key !== key)
        throw problems.refused('/key', `This URL sets ${key}. Send ${body.key} to its own URL.`)
      const value = settingValue[key](body.value)
      const row = await write(async (trx) => {
        // Use an advisory lock, because a setting with its default value has no row to lock.
        await sql`select pg_advisory_xact_lock(hashtext(${`settings:${caller.client}`}))`.execute(trx)
        const before = await findSetting(trx, caller.client, key)
        const { ifMatch } = request
        if (ifMatch !== undefined && ifMatch !== (before?.version ?? 0)) throw problems.stale()
        assertUnchanged(before && body.lastUpdated, before?.updated_at ?? new Date(), [
          {
            pointer: '/client',
            sent: body.client?.toLowerCase(),
            stored: caller.client,
            instead: 'You can change only settings of your current organisation. Switch to the other one first.',
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
      return presentResponse(caller.client, key, row, mails)
    },
  ),
}

type SettingRow = Selectable<Settings>

function parseSettingKey(text: string): SettingKey {
  const key = settingKeys.find((settingKey) => settingKey === text)
  if (!key) throw problems.notFound('setting')
  return key
}

function findSetting(db: Kysely<DB>, client: string, key: SettingKey): Promise<SettingRow | undefined> {
  return db.selectFrom('settings').selectAll().where('client', '=', client).where('key', '=', key).executeTakeFirst()
}

const presentResponse = (client: string, key: SettingKey, row: SettingRow | undefined, mails: boolean) =>
  new JsonResponse(presentSetting(client, key, row, mails), { ETag: etagOf(row?.version ?? 0) })

/**
 * Converts a setting to a resource. If it is not stored, the resource has its default value. Warns that alerts cannot
 * be mailed if the service has no mail server.
 */
const presentSetting = (
  client: string,
  key: SettingKey,
  row: SettingRow | undefined,
  hasMailServer: boolean,
): Setting => ({
  ...(row && {
    id: row.uid,
    created: row.created_at.toISOString(),
    lastUpdated: row.updated_at.toISOString(),
  }),
  client,
  key,
  value: row?.value ?? settingDefaults[key],
  ...(key === 'ALERT_EMAIL' && row?.value && !hasMailServer && { warning: noMailServer }),
})

const maxAddresses = 50
const isAddressLike = (entry: string) => /^[^\s@,;:<>"()[\]\\\p{Cc}]+@[\p{L}\p{M}\p{N}.-]+$/u.test(entry)

const allowOnly =
  (...values: string[]) =>
  (value: string): string => {
    if (!values.includes(value)) throw invalidValue(`${quoteValue(value)} is not allowed. Use ${values.join(' or ')}.`)
    return value
  }

/**
 * Maps each setting to the function that validates its value and returns its stored form. Throws 422 for an invalid
 * value.
 */
const settingValue: Readonly<Record<SettingKey, (value: string) => string>> = {
  ALERT_EMAIL: parseAlertEmail,
  DEFAULT_ACCESS_LEVEL: allowOnly('PUBLIC', 'PRIVATE'),
  DATA_PIPELINE_ERROR_ACTION_STAGING_TABLES: allowOnly('CLEAN_UP', 'RETAIN'),
  RETAIN_TEMP_FILES: allowOnly('true', 'false'),
  THEME: parseTheme,
}

/** Checks the value of ALERT_EMAIL and returns it in its stored form. Throws 422 for an invalid value. */
function parseAlertEmail(value: string): string {
  if (value.trim() === '') return ''
  const hasEmptyEntry = value.split(',').some((entry) => entry.trim() === '')
  if (hasEmptyEntry) throw invalidValue('The list has an empty entry before or after a comma. Remove this comma.')
  const setting = parseAlertSetting(value)
  const invalidAddress = setting.addresses.find((address) => !isAddressLike(address))
  if (invalidAddress !== undefined)
    throw invalidValue(
      `${quoteValue(invalidAddress)} is not an email address. Separate entries by commas; besides addresses, WARNING and NO_SUCCESS_24_HOURS (with any number of hours) are allowed.`,
    )
  const undeliverableAddress = setting.addresses.find((address) => mailableAddress(address) === undefined)
  if (undeliverableAddress !== undefined)
    throw invalidValue(
      `Mail cannot be sent to ${quoteValue(undeliverableAddress)}: use up to 64 unaccented letters, digits and signs before the @, and a valid domain after it.`,
    )
  const { noSuccessHours: hours } = setting
  if (hours !== undefined && (hours < 1 || hours > maxNoSuccessHours))
    throw invalidValue(`NO_SUCCESS_${hours}_HOURS is not allowed. Use 1 to ${maxNoSuccessHours} hours.`)
  if (setting.addresses.length === 0) throw invalidValue('The setting has no email address. Add an address.')
  if (new Set(setting.addresses).size > maxAddresses)
    throw invalidValue(`The setting has more than ${maxAddresses} addresses. Remove some of them.`)
  return formatAlertSetting(setting)
}

function parseTheme(value: string): string {
  if (!/^[\w-]{0,64}$/.test(value))
    throw invalidValue('The name of a theme may have at most 64 letters, digits, underscores and hyphens. Correct it.')
  return value
}

const quoteValue = (value: string) => JSON.stringify(value.slice(0, 80))

const invalidValue = (detail: string) => problems.refused('/value', detail)
