import type { DataQualityCheckGroupBody } from '@sluice/contracts'
import { problems } from '@sluice/http'
import type { Writing } from '@sluice/records'
import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { usedByWorkflows } from '../../engine/workflows/used-by-workflows.ts'
import { labelledColumns } from '../data-quality/labelled.ts'
import type { PipelineContext } from '../operation.ts'
import { seededAccess } from '../settings/default-access.ts'
import { checkSharingTargets } from '../sharing-targets.ts'
import type { GroupRow } from './records.ts'

/** The group's own row; its checks have a table of their own. */
export const groupWriting: Writing<PipelineContext, GroupRow, DataQualityCheckGroupBody> = {
  async check(body, input) {
    const ids = (body.dataQualityChecks ?? []).map(({ id }) => id.toLowerCase())
    const twice = ids.findIndex((id, index) => ids.indexOf(id) < index)
    if (twice >= 0) throw problems.refused(`/dataQualityChecks/${twice}/id`, 'The group has this check already.')
    await checkSharingTargets(body.access, input)
  },

  async columns(trx, body, current, { caller }) {
    return {
      ...(current ? {} : { client: caller.client }),
      ...labelledColumns(body),
      ...(await seededAccess(trx, body.access, current, caller.client)),
    }
  },

  async beforeDelete(trx: Transaction<DB>, row) {
    const active = await trx
      .selectFrom('runs')
      .select('uid')
      .where('runnable_id', '=', row.id)
      .where('state', 'in', ['QUEUED', 'RUNNING'])
      .executeTakeFirst()
    if (active) throw problems.conflict('/', 'A run of this group is under way: cancel it or wait for its end.')
    const gated = await trx
      .selectFrom('data_pipelines')
      .select('name')
      .where('quality_group_id', '=', row.id)
      .orderBy('name')
      .limit(5)
      .execute()
    if (gated.length > 0)
      throw problems.conflict(
        '/',
        `Data pipelines have to pass this group: ${gated.map(({ name }) => `"${name}"`).join(', ')}. Give them another one first, or none.`,
      )
    const workflows = await usedByWorkflows(trx, row.id)
    if (workflows.length > 0)
      throw problems.conflict(
        '/',
        `Workflows run this group: ${workflows.map((name) => `"${name}"`).join(', ')}. Take it out of them first.`,
      )
    // Months of runs go with it.
    await sql`set local statement_timeout = '120s'`.execute(trx)
  },

  async afterDelete() {},
}
