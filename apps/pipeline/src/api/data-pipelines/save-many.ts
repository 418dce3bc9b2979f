import { sql, type Transaction } from 'kysely'
import type { DataPipelineBody, DataPipelinesBody, SavedDataPipelines, FieldViolation } from '@sluice/contracts'
import { Problem, problems, type Caller, type OperationInput } from '@sluice/http-server'
import { visibleTo, redactSecrets } from '@sluice/records'
import type { DB } from '../../database.ts'
import { translateDatabaseError } from '../../problems/translate-errors.ts'
import type { PipelineContext } from '../operation-context.ts'
import { createCachedLookups, resolveType } from './referenced-objects.ts'
import { type DataPipelineRow, dataPipelines } from './records.ts'
import { dataPipelineWriting, pipelineColumns } from './write.ts'

type SaveManyRequest = OperationInput<PipelineContext, '/data-pipelines/bulk', undefined, DataPipelinesBody>
type SavedPipeline = SavedDataPipelines['dataPipelines'][number]

/** The maximum number of violations in a response. */
const maxViolations = 100

/**
 * Saves all pipelines in one transaction, or none. Checks each pipeline like a request for a single one. The response lists the
 * violations of all pipelines as far as possible.
 */
export async function saveDataPipelines(input: SaveManyRequest): Promise<SavedDataPipelines> {
  const bodies = await resolveTypes(input)
  const wrong = [...findDuplicateNames(bodies)]
  for (const [index, one] of bodies.entries())
    wrong.push(...(await collectViolations(index, async () => dataPipelineWriting.check(one, input))))
  throwViolations(wrong)
  return input.write(async (trx) => ({
    dataPipelines: (await saveInBulk(trx, bodies, input)) ?? (await saveEach(trx, bodies, input)),
  }))
}

/** Adds missing types to the bodies, from the stored pipelines of the same names. Throws the violations of all bodies. */
async function resolveTypes({ body, db, caller }: SaveManyRequest): Promise<DataPipelineBody[]> {
  const names = body.dataPipelines.flatMap(({ type, name }) => (type || typeof name !== 'string' ? [] : [name]))
  const stored =
    names.length === 0
      ? []
      : await db
          .selectFrom('data_pipelines as r')
          .select(['name', 'type'])
          .where('name', 'in', names)
          .where(visibleTo(caller, 'READ'))
          .execute()
  const typeOf = new Map(stored.map(({ name, type }) => [name, type]))
  const typed: DataPipelineBody[] = []
  const wrong: FieldViolation[] = []
  for (const [index, sent] of body.dataPipelines.entries()) {
    const work = async () => void typed.push(await resolveType(sent, async () => typeOf.get(sent.name)))
    wrong.push(...(await collectViolations(index, work)))
  }
  throwViolations(wrong)
  return typed
}

/**
 * Saves each existing pipeline with one statement, and all new ones with a few statements. Returns undefined and changes nothing if a
 * pipeline is invalid or depends on a change of another one; then `saveEach` must save them.
 */
async function saveInBulk(
  trx: Transaction<DB>,
  bodies: readonly DataPipelineBody[],
  input: SaveManyRequest,
): Promise<SavedPipeline[] | undefined> {
  const { caller, request } = input
  const changes: { before?: DataPipelineRow; after: DataPipelineRow }[] = []
  let dependent = false
  await sql`savepoint together`.execute(trx)
  const wrong = await collectViolations(0, async () => {
    const named = await findUidsByName(trx, bodies, caller)
    const uids = bodies.map((one) => named.get(one.name))
    const there = uids.filter((uid) => uid !== undefined)
    const locked = await dataPipelines.lockAll(trx, caller, there)
    // The caller may not write the missing ones.
    if (locked.size < there.length) return void (dependent = true)
    const known = createCachedLookups(trx, caller)
    const fresh: { index: number; columns: object }[] = []
    for (const [index, one] of bodies.entries()) {
      const before = locked.get(uids[index] ?? '')
      const columns = await pipelineColumns(trx, one, before, input, known)
      if (!before) fresh.push({ index, columns })
      else changes[index] = { before, after: await dataPipelines.update(trx, caller, before, columns) }
    }
    const rows = await dataPipelines.insertAll(
      trx,
      caller,
      fresh.map(({ columns }) => columns),
    )
    for (const [place, { index }] of fresh.entries()) changes[index] = { after: rows[place]! }
  })
  if (wrong.length > 0 || dependent) {
    await sql`rollback to savepoint together`.execute(trx)
    return undefined
  }
  await sql`release savepoint together`.execute(trx)
  return changes.map((change) => presentSaved(change, request))
}

async function findUidsByName(trx: Transaction<DB>, bodies: readonly DataPipelineBody[], caller: Caller) {
  const rows = await trx
    .selectFrom('data_pipelines')
    .select(['uid', 'name'])
    .where('client', '=', caller.client)
    .where(
      'name',
      'in',
      bodies.map(({ name }) => name),
    )
    .execute()
  return new Map(rows.map(({ uid, name }) => [name, uid]))
}

/** Adds a saved pipeline to the audit, and returns its part of the response. */
function presentSaved(
  { before, after }: { before?: DataPipelineRow | undefined; after: DataPipelineRow },
  request: SaveManyRequest['request'],
): SavedPipeline {
  request.audit(after.uid, { ...(before && { before: redactSecrets(before) }), after: redactSecrets(after) })
  return { id: after.uid, name: after.name, type: after.type, result: before ? 'UPDATED' : 'CREATED' }
}

/** Saves one pipeline after the other, and throws the violations of all. */
async function saveEach(
  trx: Transaction<DB>,
  bodies: readonly DataPipelineBody[],
  input: SaveManyRequest,
): Promise<SavedPipeline[]> {
  const saved: SavedPipeline[] = []
  const refused: FieldViolation[] = []
  for (const [index, one] of bodies.entries()) {
    await sql`savepoint one`.execute(trx)
    const found = await collectViolations(index, async () => void saved.push(await saveDataPipeline(trx, one, input)))
    await (found.length > 0 ? sql`rollback to savepoint one` : sql`release savepoint one`).execute(trx)
    refused.push(...found)
    if (refused.length >= maxViolations) break
  }
  throwViolations(refused)
  return saved
}

async function saveDataPipeline(
  trx: Transaction<DB>,
  body: DataPipelineBody,
  input: SaveManyRequest,
): Promise<SavedPipeline> {
  const { caller, request } = input
  const before = await lockByName(trx, body, caller)
  const columns = await dataPipelineWriting.columns(trx, body, before, input)
  const after: DataPipelineRow = before
    ? await dataPipelines.update(trx, caller, before, columns)
    : await dataPipelines.insert(trx, caller, columns)
  return presentSaved({ before, after }, request)
}

/** Locks the stored pipeline with the name of the body; undefined for a new name. */
async function lockByName(
  trx: Transaction<DB>,
  body: DataPipelineBody,
  caller: Caller,
): Promise<DataPipelineRow | undefined> {
  const named = (await findUidsByName(trx, [body], caller)).get(body.name)
  if (named === undefined) return undefined
  return dataPipelines.lock(trx, caller, named, undefined).catch((error: unknown) => {
    // The name may belong to a pipeline that the caller may not see.
    if (error instanceof Problem && error.status === 404)
      throw problems.conflict('/name', 'Another data pipeline has this name. Choose another name.')
    throw error
  })
}

/** Yields a violation for each repeated name. */
function* findDuplicateNames(bodies: readonly DataPipelineBody[]): Generator<FieldViolation> {
  const seen = new Set<string>()
  for (const [index, { name }] of bodies.entries()) {
    if (seen.has(name))
      yield { pointer: `/dataPipelines/${index}/name`, detail: 'This name is in the list twice. Choose another.' }
    seen.add(name)
  }
}

/** Returns the violations that `work` throws for a pipeline. Rethrows other errors. */
async function collectViolations(index: number, work: () => Promise<void>): Promise<FieldViolation[]> {
  try {
    await work()
    return []
  } catch (error) {
    const problem = error instanceof Problem ? error : translateDatabaseError(error)
    if (!problem || problem.status >= 500) throw error
    const at = `/dataPipelines/${index}`
    return (problem.errors ?? [{ pointer: '/', detail: problem.message }]).map(({ pointer, detail }) => ({
      pointer: pointer === '/' ? at : `${at}${pointer}`,
      detail,
    }))
  }
}

function throwViolations(errors: readonly FieldViolation[]): void {
  if (errors.length === 0) return
  throw new Problem(422, 'not-saved', 'None of the data pipelines was saved.', {
    detail: `The request has ${errors.length === 1 ? '1 error' : `${errors.length} errors`}: correct them and save again. The first error: ${errors[0]!.detail}`,
    errors: errors.slice(0, maxViolations),
  })
}
