import { randomUUID } from 'node:crypto'
import type { Transaction } from 'kysely'
import { type DestinationBody, holds } from '@sluice/contracts'
import { problems, type Caller } from '@sluice/http'
import { visibleTo, type Writing } from '@sluice/records'
import type { DB } from '../../database.ts'
import { demandIdle } from '../in-use.ts'
import type { PipelineContext } from '../operation.ts'
import { checkSchedule } from '../schedules/check-schedule.ts'
import { scheduleColumns } from '../schedules/schedule-columns.ts'
import { seededAccess } from '../settings/default-access.ts'
import { checkSharingTargets } from '../sharing-targets.ts'
import type { DestinationRow } from './row.ts'
import { isElsewhere, targetColumns, targetGiven, urlOf } from './target-columns.ts'

export const destinationWriting: Writing<PipelineContext, DestinationRow, DestinationBody> = {
  async check(body, input) {
    checkSchedule(body)
    const { settings } = targetGiven(body)
    const url = urlOf(settings)
    if (!URL.canParse(url) || /[?#@]/.test(url.replace(/^https?:\/\//, '')))
      throw problems.refused(
        'apiTarget' in settings ? '/apiTarget/url' : '/apiTokenTarget/url',
        'This is not the address of a DHIS2 server. Write it like https://dhis2.example.org/dhis, without username, ? and #.',
      )
    await checkSharingTargets(body.access, input)
  },

  async columns(trx, body, current, { caller, keyRing }) {
    const uid = current?.uid ?? randomUUID()
    return {
      ...(current ? {} : { uid, client: caller.client }),
      type: body.type ?? 'SOURCE_SYSTEM_C',
      view_id: await viewOf(trx, body, current, caller),
      name: body.name,
      translations: JSON.stringify(body.translations ?? []),
      description: body.description ?? null,
      ...scheduleColumns(body),
      import_options: JSON.stringify(body.importOptions ?? {}),
      ...targetColumns(body, uid, current, keyRing),
      ...(await seededAccess(trx, body.access, current, caller.client)),
    }
  },

  async beforeDelete(trx, row) {
    await demandIdle(trx, row, 'DESTINATION')
  },

  async afterDelete() {},
}

/** The view whose rows go out: one that the caller may read, or the one that it was before. */
async function viewOf(
  trx: Transaction<DB>,
  body: DestinationBody,
  current: DestinationRow | undefined,
  caller: Caller,
): Promise<number> {
  const uid = body.viewSource.id
  const found = await trx
    .selectFrom('views as r')
    .select(['r.id', visibleTo(caller, 'READ').as('shown')])
    .where('r.uid', '=', uid)
    .where('r.client', '=', caller.client)
    .forKeyShare()
    .executeTakeFirst()
  // Whoever may not read the view may leave it where it is, and going where it went.
  const stays = found?.id === current?.view_id && current !== undefined && !isElsewhere(body, current)
  const may = found && (stays || (found.shown && holds(caller.roles, 'ROLE_SEE_VIEW')))
  if (!may) throw problems.refused('/viewSource/id', `There is no view with the id ${uid} that you may read.`)
  return found.id
}
