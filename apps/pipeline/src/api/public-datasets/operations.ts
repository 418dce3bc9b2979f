import { holds, pipelineOperations, searchOf } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import { readPage } from '../read-page.ts'
import { type RequestContext, operation } from '../operation.ts'
import { createDataset, deleteDataset, replaceRows, updateDataset } from './write.ts'
import { answerDataset, findTable, publicDatasets, shownAs, uidOfKey } from './records.ts'

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
    await deleteDataset(input, input.params.key)
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

/**
 * Throws 403 unless the organisation has the domain PUBLIC_DATASET_CATALOG or the caller is a super admin. A role is not enough, because
 * publishing reaches every organisation.
 */
async function assertMayPublish({
  db,
  caller,
  identity,
}: Pick<RequestContext, 'db' | 'caller' | 'identity'>): Promise<void> {
  if (holds(caller.roles, 'ROLE_SUPER_ADMIN')) return
  if ((await identity.client(caller.client))?.domain === 'PUBLIC_DATASET_CATALOG') return
  const before = await db
    .selectFrom('dataset_publishers')
    .select('client')
    .where('client', '=', caller.client)
    .executeTakeFirst()
  if (!before)
    throw problems.forbidden(
      'Only organisations of the domain PUBLIC_DATASET_CATALOG publish public datasets: a super admin can set the domain of yours.',
    )
}
