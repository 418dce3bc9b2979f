import type { PublicDataset, PublicDatasetBody } from '@sluice/contracts'
import { problems, type Answer, type Input } from '@sluice/http'
import { withoutSecrets } from '@sluice/records'
import type { PipelineContext } from '../operation.ts'
import { load, lockKey, setHeaderRow } from './catalogue-pipeline.ts'
import { answerDataset } from './answer.ts'
import { publicDatasets, uidOfKey } from './records.ts'

type Asking = Input<PipelineContext, '/public-datasets/:key', undefined, PublicDatasetBody>

/** What is said of it. The file is loaded anew only where its first row is to mean something else. */
export async function updateDataset(input: Asking): Promise<Answer<PublicDataset>> {
  const { caller, params, body, write, request } = input
  if (body.key !== params.key)
    throw problems.refused('/key', `A public dataset keeps its key, which is ${params.key}: upload another one.`)
  const row = await write(async (trx) => {
    await lockKey(trx, params.key)
    const before = await publicDatasets.lock(trx, caller, await uidOfKey(trx, params.key), request.ifMatch)
    const { headerRow = before.header_row } = body
    const after = await publicDatasets.update(trx, caller, before, {
      name: body.name,
      description: body.description ?? null,
      owner: body.owner ?? null,
      reference: body.reference ?? null,
      source: body.source ?? null,
      terms_of_use: body.termsOfUse ?? null,
      tags: JSON.stringify(body.tags ?? []),
      header_row: headerRow,
    })
    if (headerRow !== before.header_row) {
      await setHeaderRow(trx, before.pipeline_id, headerRow)
      await load(trx, before.pipeline_id, input)
    }
    request.audit(after.uid, { before: withoutSecrets(before), after: withoutSecrets(after) })
    return after
  })
  return answerDataset(row, input)
}
