import type { SourceBody } from '@sluice/contracts'
import { type Caller, type Input, Problem, problems } from '@sluice/http'
import type { Reading } from '../../engine/sources/reading.ts'
import { type SentSecrets, openSource } from '../../sealed-secrets.ts'
import type { PipelineContext } from '../operation.ts'
import { type DataPipelineRow, dataPipelines } from './records.ts'
import { mergeSourceSecrets, definedSecrets } from './source-columns.ts'
import { kindOf } from './types/registry.ts'
import { namesVariables } from '../../engine/variables/replace.ts'
import { withValuesOf } from '../../engine/variables/source-values.ts'
import { variablesOf } from '../../engine/variables/stored.ts'
import { hider } from '../../engine/quality/hide-secured.ts'
import { throwIfSourceProblem, translate } from '../../problems.ts'

/** A source to read, and the address that its stored secrets may be sent to. */
export type RequestedSource = Reading & SentSecrets

type SourceRequest = Input<PipelineContext, '/data-pipelines/preview', undefined, SourceBody>

/**
 * Returns the source of a body. With the id of a pipeline, its file and its stored secrets are used, too; the secrets only for the
 * address that they were given for. That takes the right to change the pipeline.
 */
export async function requestedSource({ db, caller, body, keyRing }: SourceRequest): Promise<RequestedSource> {
  const kind = kindOf(body.type)
  const stored = body.id === undefined ? undefined : await dataPipelines.readToWrite(db, caller, body.id, undefined)
  if (stored && stored.type !== body.type) throw problems.refused('/type', `That pipeline is of type ${stored.type}.`)
  const settings = kind.settings(body)
  const given = kind.secrets(body)
  const sent = stored ? mergeSourceSecrets(kind, stored, settings, given, keyRing) : { secrets: definedSecrets(given) }
  kind.checkSecrets?.(settings, sent.secrets)
  return { type: body.type, settings, ...sent, input: await inputOf(db, stored) }
}

/** Returns the saved source of a pipeline. */
export async function savedSource(
  { db, keyRing }: Pick<PipelineContext, 'db' | 'keyRing'>,
  row: DataPipelineRow,
): Promise<RequestedSource> {
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

type CellHider = ReturnType<typeof hider>

type VariableContext = Pick<PipelineContext, 'db' | 'keyRing'> & { caller: Caller }

/**
 * Runs `work` with the values of variables in the settings and secrets of a source. Texts of a source may repeat the values: `hide`
 * removes secured ones from a sentence, and errors are redacted already. Throws `VariableProblem` without running `work` if stored
 * secrets would be sent to another address than they were given for.
 */
export async function withVariables<T>(
  { db, keyRing, caller }: VariableContext,
  { givenFor, ...reading }: RequestedSource,
  work: (reading: Reading, hide: (sentence: string) => string, hideCells: CellHider) => Promise<T>,
): Promise<T> {
  const { settings, secrets } = reading
  if (!namesVariables(settings, secrets)) return work(reading, (sentence) => sentence, hider([]))
  const variables = await variablesOf(db, caller.client, keyRing)
  const ready = { ...reading, ...withValuesOf({ type: reading.type, settings, secrets, givenFor }, variables) }
  try {
    return await work(ready, (sentence) => variables.hideIn(sentence), hider(variables.secured))
  } catch (error) {
    // Leaves out the cause, because the driver repeats the values in it. Keeps the code for the check of an upload.
    throwIfSourceProblem(error, (text) => variables.hideIn(text))
    const problem = translate(error)
    if (!problem) throw error
    const { status, code, title, headers } = problem
    throw new Problem(status, code, title, { detail: variables.hideIn(problem.message), headers })
  }
}
