import { pipelineOperations, settingKeys, type Setting, type SettingBody, type SettingKey } from '@sluice/contracts'
import { Answer, etagOf, problems, type Input } from '@sluice/http'
import { assertUnchanged } from '@sluice/records'
import { type Kysely, type Selectable, sql } from 'kysely'
import type { DB, Settings } from '../../database.ts'
import { noMailServer, settingDefaults } from '../../settings.ts'
import { operation, type PipelineContext } from '../operation.ts'
import { settingValue } from './values.ts'

const { settings: signatures } = pipelineOperations

type Asking<Body> = Input<PipelineContext, '/settings/:key', undefined, Body>

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

  read: operation(signatures.read, async ({ db, caller, params, mails }: Asking<undefined>) => {
    const key = keyOf(params.key)
    return answer(caller.client, key, await find(db, caller.client, key), mails)
  }),

  update: operation(signatures.update, async ({ caller, params, body, request, write, mails }: Asking<SettingBody>) => {
    const key = keyOf(params.key)
    if (body.key !== undefined && body.key !== key)
      throw problems.refused('/key', `The address is that of ${key}: change ${body.key} at its own.`)
    const value = settingValue[key](body.value)
    const row = await write(async (trx) => {
      // Of a setting that nobody changed yet there is no row to lock.
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
  }),
}

type Row = Selectable<Settings>

function keyOf(text: string): SettingKey {
  const key = settingKeys.find((one) => one === text)
  if (!key) throw problems.notFound('setting')
  return key
}

function find(db: Kysely<DB>, client: string, key: SettingKey): Promise<Row | undefined> {
  return db.selectFrom('settings').selectAll().where('client', '=', client).where('key', '=', key).executeTakeFirst()
}

const answer = (client: string, key: SettingKey, row: Row | undefined, mails: boolean) =>
  new Answer(present(client, key, row, mails), { ETag: etagOf(row?.version ?? 0) })

const present = (client: string, key: SettingKey, row: Row | undefined, mails: boolean): Setting => ({
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
