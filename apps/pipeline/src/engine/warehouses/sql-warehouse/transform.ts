import { type Language, readdressed, usual } from '../sql-names.ts'
import type { Place } from '../views.ts'
import { type TransformationStatement, WarehouseProblem } from '../warehouse.ts'
import { ownRelations, ownSchemas } from './sql-catalog.ts'
import type { Dialect, Session } from './sql-dialect.ts'
import type { DialectLoad } from './sql-loader.ts'
import { problemOf } from './problems.ts'
import { asked, findRelation } from './table-shape.ts'

/** Seconds that all statements together may take. */
const longest = 7_200

/** No schema of anybody: where the waiting tables are looked for under the names of those that they are to become. */
const waiting = ''

/**
 * See `Warehouse.transform`. Bare names of the loads' tables become those of the waiting tables, which role `load` may write to for this.
 * All statements run on one connection, so that temporary tables live as long; each is a transaction of its own.
 */
export async function transform(
  dialect: Dialect,
  loads: readonly DialectLoad[],
  statements: readonly TransformationStatement[],
  signal: AbortSignal,
): Promise<void> {
  const [first] = loads
  if (statements.length === 0 || !first) return
  const late = AbortSignal.timeout(longest * 1_000)
  const inTime = AbortSignal.any([signal, late])
  try {
    const relations = await asked(dialect, { role: 'service', signal }, async (session) => {
      for (const { staging } of loads)
        for (const statement of dialect.changes.grant(staging, 'FILL')) await session.execute(statement)
      return ownRelations(dialect, session, await ownSchemas(dialect, session))
    })
    await asked(dialect, { role: 'load', signal: inTime, seconds: longest }, async (session) => {
      for (const [index, statement] of statements.entries())
        await runOne(dialect, session, { loads, relations, statement, number: index + 1 }, inTime)
    })
    await asked(dialect, { role: 'service', signal }, async (session) => {
      for (const load of loads) await demandKept(dialect, session, load)
    })
  } catch (error) {
    signal.throwIfAborted()
    if (late.aborted)
      throw failed(`The transformation was stopped: it may take ${longest / 3_600} hours in all.`, error)
    throw problemOf(dialect, error, first.place)
  }
}

interface One {
  loads: readonly DialectLoad[]
  relations: readonly Place[]
  statement: TransformationStatement
  number: number
}

async function runOne(
  dialect: Dialect,
  session: Session,
  { loads, relations, statement: { statement, description }, number }: One,
  signal: AbortSignal,
): Promise<void> {
  const named = `Statement ${number} of the transformation${description ? ` (“${description.slice(0, 200)}”)` : ''}`
  const staged = new Map(loads.map((load) => [load.target.table, load.staging]))
  const { text } = readdressed(statement, {
    schemas: [waiting],
    relations: [...[...staged.keys()].map((name) => ({ schema: waiting, name })), ...relations],
    whole: true,
    language: writing(dialect.language ?? usual),
    address: (place) => dialect.names.place(place.schema === waiting ? staged.get(place.name)! : place),
  })
  try {
    await session.execute({ texts: [text], values: [] })
  } catch (error) {
    signal.throwIfAborted()
    throw explained(dialect, error, named)
  }
}

const writing = ({ tokensOf, opening }: Language): Language => ({
  tokensOf,
  opening: new Set([...opening, 'into', 'update', 'delete', 'using', 'table']),
})

function explained(dialect: Dialect, error: unknown, named: string): unknown {
  const known = problemOf(dialect, error, named)
  if (known instanceof WarehouseProblem && (known.retryable || known.code === 'DISK_FULL')) return known
  const verdict = dialect.explainQuery(error, longest)
  if (verdict?.code === 'QUERY_TIMEOUT')
    return failed(`${named} took longer than ${longest} seconds and was stopped.`, error)
  if (!verdict && !(known instanceof WarehouseProblem)) return known
  const words = verdict?.words ?? (known as WarehouseProblem).message
  return failed(`${named} failed: ${words.slice(0, 1_500)}`, error)
}

/** The statements may change the rows of the waiting table, and not the table itself. */
async function demandKept(dialect: Dialect, session: Session, load: DialectLoad): Promise<void> {
  const now = await findRelation(dialect, session, load.staging)
  if (now?.id !== load.id)
    throw failed(`After the transformation the table "${load.target.table}" that was to be published is not there.`)
  load.transformed = true
  load.profile = undefined
}

const failed = (sentence: string, cause?: unknown) => new WarehouseProblem('TRANSFORMATION_FAILED', sentence, { cause })
