import type { DataQualityCheckGroupBody } from '@sluice/contracts'
import { problems } from '@sluice/http'
import type { Writing } from '@sluice/records'
import type { Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { labelledColumns } from '../data-quality/labelled.ts'
import { demandIdle, firstNames, refuseWhileUsed } from '../in-use.ts'
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
    const gated = trx.selectFrom('data_pipelines').select('name').where('quality_group_id', '=', row.id)
    refuseWhileUsed(
      await firstNames(gated),
      'Data pipelines have to pass this check group',
      'Give them another one first, or none.',
    )
    await demandIdle(trx, row, 'DATA_QUALITY_CHECK_GROUP')
  },

  async afterDelete() {},
}
