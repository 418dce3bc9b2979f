import type { SourceBody } from '@sluice/contracts'
import { problems, type Input } from '@sluice/http'
import type { Reading } from '../../engine/sources/reading.ts'
import { openSource, type SentSecrets } from '../../source-secrets.ts'
import type { PipelineContext } from '../operation.ts'
import { dataPipelines } from './records.ts'
import type { DataPipelineRow } from './row.ts'
import { keptSecrets, withValues } from './source-columns.ts'
import { kindOf } from './types/registry.ts'

/** With where its secrets may go, as far as they were stored. */
export type AskedReading = Reading & SentSecrets

type Asking = Input<PipelineContext, '/data-pipelines/preview', undefined, SourceBody>

/**
 * What a source body asks to be looked at. With an id, what that pipeline has stored fills the gaps: its file, and its
 * password as long as that goes where it was meant for. That takes a right to change the pipeline.
 */
export async function readingOf({ db, caller, body, keyRing }: Asking): Promise<AskedReading> {
  const kind = kindOf(body.type)
  const stored = body.id === undefined ? undefined : await dataPipelines.readToWrite(db, caller, body.id, undefined)
  if (stored && stored.type !== body.type) throw problems.refused('/type', `That pipeline is of type ${stored.type}.`)
  const settings = kind.settings(body)
  const given = kind.secrets(body)
  const sent = stored ? keptSecrets(kind, stored, settings, given, keyRing) : { secrets: withValues(given) }
  kind.checkSecrets?.(settings, sent.secrets)
  return { type: body.type, settings, ...sent, input: await inputOf(db, stored) }
}

/** A pipeline's source as it is saved. */
export async function savedReading(
  { db, keyRing }: Pick<PipelineContext, 'db' | 'keyRing'>,
  row: DataPipelineRow,
): Promise<AskedReading> {
  const { type, settings } = row
  return { type, settings, ...openSource(row, keyRing), input: await inputOf(db, row) }
}

async function inputOf(db: PipelineContext['db'], row: DataPipelineRow | undefined): Promise<object> {
  if (!row || !kindOf(row.type).upload) return {}
  const file = await db
    .selectFrom('uploaded_files')
    .select(['uid', 'name', 'size'])
    .where('pipeline_id', '=', row.id)
    .executeTakeFirst()
  return { file }
}
