import { pipelineOperations, toSearchRequest } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import { notLoadedYet, answerRows } from '../read-table-page.ts'
import { definePipelineOperation } from '../operation-context.ts'
import { createDataset, deleteDataset, replaceRows, updateDataset } from './write.ts'
import { toTableLabels } from '../table-responses.ts'
import { answerDataset, findDatasetTable, mayPublish, publicDatasets, readDatasetUid } from './records.ts'

const { publicDatasets: signatures } = pipelineOperations

export const publicDatasetOperations = {
  list: definePipelineOperation(signatures.list, (input) =>
    publicDatasets.search(input.db, input, toSearchRequest(input.query), input.request.url),
  ),
  create: definePipelineOperation(signatures.create, async (input) => {
    await assertMayPublish(input)
    return createDataset(input)
  }),
  read: definePipelineOperation(signatures.read, async (input) => {
    const { db, caller, params } = input
    return answerDataset(await publicDatasets.read(db, caller, await readDatasetUid(db, params.key)), input)
  }),
  update: definePipelineOperation(signatures.update, async (input) => {
    await assertMayPublish(input)
    return updateDataset(input)
  }),
  delete: definePipelineOperation(signatures.delete, async (input) => {
    await assertMayPublish(input)
    await deleteDataset(input, input.params.key)
    return undefined
  }),
  upload: definePipelineOperation(signatures.upload, async (input) => {
    await assertMayPublish(input)
    return replaceRows(input)
  }),
  data: definePipelineOperation(signatures.data, (input) =>
    answerRows(signatures.data.id, input, async () => {
      const { db, caller, params } = input
      const row = await publicDatasets.read(db, caller, await readDatasetUid(db, params.key))
      const datasetTable = await findDatasetTable(input, row)
      if (!datasetTable) throw notLoadedYet('The public dataset has no rows yet: see the status of its load.')
      return { ...datasetTable, labels: toTableLabels(row), object: row.uid }
    }),
  ),
}

/** Throws 403 unless the caller may publish datasets. */
async function assertMayPublish(context: Parameters<typeof mayPublish>[0]): Promise<void> {
  if (await mayPublish(context)) return
  throw problems.forbidden(
    'Only organisations with `domain` PUBLIC_DATASET_CATALOG may publish datasets. Ask a super admin to set `domain` of your organisation.',
  )
}
