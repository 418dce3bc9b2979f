import { randomUUID } from 'node:crypto'
import type { PublicDataset, PublicDatasetFileQuery } from '@sluice/contracts'
import { problems, type Answer, type Input } from '@sluice/http'
import { removeUnneededFiles } from '../../engine/runs/needed-files.ts'
import { receiveInShare } from '../receive-in-share.ts'
import { readFirstRow } from '../data-pipelines/check-upload.ts'
import { demandFile } from '../data-pipelines/upload.ts'
import type { PipelineContext } from '../operation.ts'
import { load, lockKey, replaceFile } from './catalogue-pipeline.ts'
import { answerDataset } from './answer.ts'
import { publicDatasets, uidOfKey } from './records.ts'
import { waitForLoad } from './wait-for-load.ts'

type Asking = Input<PipelineContext, '/public-datasets/:key/file', PublicDatasetFileQuery, undefined>

/** Streams new rows to disk and has a worker load them; the old ones stay until then, and where it cannot. */
export async function replaceRows(input: Asking): Promise<Answer<PublicDataset>> {
  const { db, caller, params, query, request, files, write } = input
  const { key } = params
  const read = async () => publicDatasets.readToWrite(db, caller, await uidOfKey(db, key), request.ifMatch)
  await read()
  demandFile(request.stream.headers, files.uploadLimit)

  const uid = randomUUID()
  const { size, sha256, release, discard } = await receiveInShare(input, uid)
  const name = query.name ?? key
  try {
    if (size === 0) throw problems.refused('/', 'The file is empty.')
    // The settings may have changed while the body was received.
    const { header_row: headerRow } = await read()
    await readFirstRow(input, { type: 'CSV_UPLOAD', settings: { csvOptions: { headerRow } } }, { uid, name })
    const { row, run, replaced } = await write(async (trx) => {
      await lockKey(trx, key)
      const before = await publicDatasets.lock(trx, caller, await uidOfKey(trx, key), request.ifMatch)
      const replaced = await replaceFile(trx, before.pipeline_id, { uid, name, size, sha256, by: caller.uid })
      const after = await publicDatasets.update(trx, caller, before, {})
      request.audit(after.uid, { file: { uid, name, size, sha256 } })
      return { row: after, run: await load(trx, before.pipeline_id, input, query), replaced }
    })
    await release()
    await removeUnneededFiles({ db, directory: files.directory }, replaced)
    await waitForLoad(input, run, query.wait)
    return await answerDataset(row, input)
  } catch (error) {
    await discard(error)
    throw error
  }
}
