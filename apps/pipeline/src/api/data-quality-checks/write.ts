import type { DataQualityCheckBody } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import type { RecordWriter } from '@sluice/records'
import { toSharedColumns } from '../data-quality/check-and-group-fields.ts'
import { assertUnused } from '../assert-not-in-use.ts'
import type { PipelineContext } from '../operation-context.ts'
import { toAccessColumnsWithDefault, assertSharingTargets } from '../object-access.ts'
import { type CheckRow, dataQualityChecks } from './records.ts'
import type { BulkSaveDefinition } from '../bulk-saves/save-by-name.ts'

export const checkWriting: RecordWriter<PipelineContext, CheckRow, DataQualityCheckBody> = {
  async check(body, input) {
    if (body.query.includes('\0')) throw problems.refused('/query', 'The query contains a NUL character. Remove it.')
    await assertSharingTargets(body.access, input)
  },

  async columns(trx, body, current, { caller }) {
    return {
      ...(current ? {} : { client: caller.client }),
      ...toSharedColumns(body),
      ...(await toAccessColumnsWithDefault(trx, body.access, current, caller.client)),
      code: body.code,
      query: body.query,
    }
  },

  async beforeDelete(trx, { id, client }, { caller }) {
    await assertUnused(trx, caller, { kind: 'DATA_QUALITY_CHECK', id, client })
  },

  async afterDelete() {},
}

export const checkBulkSave: BulkSaveDefinition<CheckRow, DataQualityCheckBody> = {
  records: dataQualityChecks,
  writing: checkWriting,
}
