import { randomUUID } from 'node:crypto'
import type { PublicDataset, PublicDatasetForm, PublicDatasetUploadQuery } from '@sluice/contracts'
import { pipelineOperations } from '@sluice/contracts'
import { Answer, Problem, problems, readForm, type Input } from '@sluice/http'
import { withoutSecrets } from '@sluice/records'
import type { Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { receiveInShare, type Upload } from '../receive-in-share.ts'
import type { PipelineContext } from '../operation.ts'
import { insertPipeline, load, lockKey, replaceFile } from './catalogue-pipeline.ts'
import { removeDataset } from './delete.ts'
import { answerDataset } from './answer.ts'
import { publicDatasets } from './records.ts'
import type { PublicDatasetRow } from './row.ts'
import { waitForLoad } from './wait-for-load.ts'

type Asking = Input<PipelineContext, '/public-datasets', PublicDatasetUploadQuery, undefined>

const { form } = pipelineOperations.publicDatasets.create

/** Takes the form's fields, streams its file to disk, and has a worker load it. A file that cannot be loaded leaves nothing. */
export async function createDataset(input: Asking): Promise<Answer<PublicDataset>> {
  const { db, caller, write, request, query } = input
  const { fields, file, ended, leave } = await readForm<PublicDatasetForm>(request.stream, form!)
  const uid = randomUUID()
  let received: Upload | undefined
  let made: { row: PublicDatasetRow; run: string }
  try {
    // Refused now what would be refused once the file is here: it may be gigabytes.
    const taken = await db.selectFrom('public_datasets').select('id').where('key', '=', fields.key).executeTakeFirst()
    if (taken) throw keyTaken()
    received = await receiveInShare(input, uid, file.stream)
    await ended()
    const { size, sha256 } = received
    if (size === 0) throw problems.refused('/file', 'The file is empty.')
    made = await write(async (trx) => {
      const row = await insertDataset(trx, fields, input)
      await replaceFile(trx, row.pipeline_id, { uid, name: file.name ?? fields.key, size, sha256, by: caller.uid })
      request.audit(row.uid, { after: withoutSecrets(row), file: { uid, name: file.name, size, sha256 } })
      return { row, run: await load(trx, row.pipeline_id, input) }
    })
    await received.release()
  } catch (error) {
    leave()
    await received?.discard(error)
    throw error
  }
  await loadedOrGone(input, made, query.wait)
  const { body, headers } = await answerDataset(made.row, input)
  return new Answer(body, { ...headers, Location: `/api/v1/public-datasets/${made.row.key}` })
}

async function insertDataset(
  trx: Transaction<DB>,
  { key, tags = '', headerRow = 'true', termsOfUse, ...fields }: PublicDatasetForm,
  { caller }: Pick<Asking, 'caller'>,
): Promise<PublicDatasetRow> {
  await lockKey(trx, key)
  const taken = await trx.selectFrom('public_datasets').select('id').where('key', '=', key).executeTakeFirst()
  if (taken) throw keyTaken()
  const named = tags.split(',').map((tag) => tag.trim())
  return publicDatasets.insert(trx, caller, {
    ...fields,
    key,
    client: caller.client,
    terms_of_use: termsOfUse ?? null,
    tags: JSON.stringify([...new Set(named.filter((tag) => tag !== ''))].map(demandTag)),
    header_row: headerRow === 'true',
    pipeline_id: await insertPipeline(trx, { key, headerRow: headerRow === 'true' }),
  })
}

/** As the contract of those that are sent as a list has it. */
function demandTag(tag: string, at: number): string {
  if (at >= 50 || tag.length > 100 || /\p{Cc}/u.test(tag))
    throw problems.malformed([
      { pointer: '/tags', detail: 'must be at most 50, each of 100 characters at most, in one line' },
    ])
  return tag
}

/** Nobody can have used it yet. */
async function loadedOrGone(input: Asking, { row, run }: { row: PublicDatasetRow; run: string }, seconds?: number) {
  try {
    await waitForLoad(input, run, seconds)
  } catch (error) {
    if (error instanceof Problem) await removeDataset(input, row.key)
    throw error
  }
}

const keyTaken = () => problems.conflict('/key', 'Another public dataset has this key.')
