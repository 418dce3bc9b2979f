import type { DataQualityCheckBody } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import type { RecordWriter } from '@sluice/records'
import { labelledColumns } from '../data-quality/labelled-columns.ts'
import { listFirstNames, assertNotUsed } from '../assert-not-in-use.ts'
import type { PipelineContext } from '../operation-context.ts'
import { accessColumnsWithDefault, assertSharingTargets } from '../object-access.ts'
import { type CheckRow, dataQualityChecks } from './records.ts'
import type { NamedKind } from '../bulk-saves/save-by-name.ts'

export const checkWriting: RecordWriter<PipelineContext, CheckRow, DataQualityCheckBody> = {
  async check(body, input) {
    if (body.query.includes('\0')) throw problems.refused('/query', 'The query contains a NUL character. Remove it.')
    await assertSharingTargets(body.access, input)
  },

  async columns(trx, body, current, { caller }) {
    return {
      ...(current ? {} : { client: caller.client }),
      ...labelledColumns(body),
      ...(await accessColumnsWithDefault(trx, body.access, current, caller.client)),
      code: body.code,
      query: body.query,
    }
  },

  async beforeDelete(trx, row) {
    const groups = trx
      .selectFrom('data_quality_group_checks as c')
      .innerJoin('data_quality_check_groups as g', 'g.id', 'c.group_id')
      .select('g.name')
      .where('c.check_id', '=', row.id)
    assertNotUsed(
      await listFirstNames(groups),
      'This check belongs to check groups',
      'Remove it from these groups first.',
    )
  },

  async afterDelete() {},
}

export const checkKind: NamedKind<CheckRow, DataQualityCheckBody> = {
  records: dataQualityChecks,
  writing: checkWriting,
}
