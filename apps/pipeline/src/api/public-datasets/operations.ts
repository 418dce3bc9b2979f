import { pipelineOperations, searchOf } from '@sluice/contracts'
import { problems } from '@sluice/http'
import { readPage } from '../catalogue/read-page.ts'
import { operation } from '../operation.ts'
import { assertMayPublish } from './assert-may-publish.ts'
import { createDataset } from './create.ts'
import { removeDataset } from './delete.ts'
import { answerDataset, findTable, shownAs } from './answer.ts'
import { publicDatasets, uidOfKey } from './records.ts'
import { updateDataset } from './update.ts'
import { replaceRows } from './upload.ts'

const { publicDatasets: signatures } = pipelineOperations

export const publicDatasetOperations = {
  list: operation(signatures.list, (input) =>
    publicDatasets.search(input.db, input, searchOf(input.query), input.request.url),
  ),
  create: operation(signatures.create, async (input) => {
    await assertMayPublish(input)
    return createDataset(input)
  }),
  read: operation(signatures.read, async (input) => {
    const { db, caller, params } = input
    return answerDataset(await publicDatasets.read(db, caller, await uidOfKey(db, params.key)), input)
  }),
  update: operation(signatures.update, async (input) => {
    await assertMayPublish(input)
    return updateDataset(input)
  }),
  delete: operation(signatures.delete, async (input) => {
    await assertMayPublish(input)
    await removeDataset(input, input.params.key)
    return undefined
  }),
  upload: operation(signatures.upload, async (input) => {
    await assertMayPublish(input)
    return replaceRows(input)
  }),
  data: operation(signatures.data, (input) =>
    readPage(input, async () => {
      const { db, caller, params } = input
      const row = await publicDatasets.read(db, caller, await uidOfKey(db, params.key))
      const found = await findTable(input, row)
      if (!found) throw problems.notFound('rows yet: the file is being loaded, or could not be')
      return { ...found, shown: shownAs(row) }
    }),
  ),
}
