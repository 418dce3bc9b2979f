import type { Schema, SchemaBody } from '@sluice/contracts'
import { Problem, problems, type Input } from '@sluice/http'
import { withoutSecrets } from '@sluice/records'
import type { Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { translate } from '../../problems.ts'
import type { PipelineContext } from '../operation.ts'
import { schemas, type SchemaRow } from './records.ts'
import { schemaWriting } from './write.ts'

type Asking = Input<PipelineContext, '/schemas', undefined, SchemaBody[]>

/** Schemas are known by their names here: those that are there are replaced, the others made; all of them or none. */
export async function saveSchemas(input: Asking): Promise<Schema[]> {
  const { body: bodies, caller, write, request } = input
  demandEachOnce(bodies)
  for (const [index, body] of bodies.entries()) await at(index, () => schemaWriting.check(body, input))
  const rows = await write(async (trx) => {
    const saved: SchemaRow[] = []
    for (const [index, body] of bodies.entries()) saved.push(await at(index, () => save(trx, body)))
    return saved
  })
  return schemas.kind.present(rows, input)

  async function save(trx: Transaction<DB>, body: SchemaBody): Promise<SchemaRow> {
    const known = trx.selectFrom('schemas').select('uid').where('client', '=', caller.client)
    const there = await known.where('name', '=', body.name).executeTakeFirst()
    const before = there && (await lockKnown(trx, there.uid))
    const columns = await schemaWriting.columns(trx, body, before, input)
    const after = before
      ? await schemas.update(trx, caller, before, columns)
      : await schemas.insert(trx, caller, columns)
    request.audit(after.uid, { ...(before && { before: withoutSecrets(before) }), after: withoutSecrets(after) })
    return after
  }

  /** One that the caller may not see has a name that is taken, as it has when they make one by itself. */
  async function lockKnown(trx: Transaction<DB>, uid: string): Promise<SchemaRow> {
    try {
      return await schemas.lock(trx, caller, uid, undefined)
    } catch (error) {
      if (!(error instanceof Problem && error.status === 404)) throw error
      throw problems.conflict('/name', 'Another schema has this name.')
    }
  }
}

function demandEachOnce(bodies: readonly SchemaBody[]): void {
  const seen = new Set<string>()
  for (const [index, { name }] of bodies.entries()) {
    if (seen.has(name))
      throw problems.refused(`/${index}/name`, `"${name}" is in the list twice: leave one of them out.`)
    seen.add(name)
  }
}

/** What goes wrong with one of them names it by its place. */
async function at<T>(index: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const problem = error instanceof Problem ? error : translate(error)
    if (!problem) throw error
    const { status, code, title, message: detail, headers } = problem
    const errors = (problem.errors ?? [{ pointer: '/', detail }]).map((violation) => ({
      ...violation,
      pointer: `/${index}${violation.pointer === '/' ? '' : violation.pointer}`,
    }))
    throw new Problem(status, code, title, { detail, errors, headers, cause: error })
  }
}
