import type { Place } from '../views.ts'
import { type PublishedTable, WarehouseProblem } from '../warehouse.ts'
import type { Dialect, Session } from './dialect.ts'
import { dropMark, enterRun, entriesIn, forget, type Mark, publishedBy, setMark } from './ledger.ts'
import { inUse, problemOf } from './problems.ts'
import { findRelation, shownAs } from './shapes.ts'
import { plain, type Sql } from './sql.ts'

/**
 * What is to be done to tables and views where no transaction holds that together. Once its row is in the ledger it is done, by whoever
 * is there to do it: a step that finds itself done already changes nothing.
 */
export interface Decision {
  steps: Step[]
  /** What is known from then on of what stands at these places; under `id`, where it has that already, it is said with the decision. */
  marks: { place: Place; id?: string; mark: Mark }[]
  /** Ids of what is known no more. */
  forgotten: string[]
  run?: { run: string; attempt: number; tables: PublishedTable[] }
}

export type Step =
  /** A table from a hidden name to another one of its schema; what stands there goes aside, if that is expected. */
  | { kind: 'SWAP'; schema: string; from: string; to: string; aside?: string }
  | { kind: 'DROP'; place: Place; id: string; view: boolean }
  /** Made, or changed to this text. `kept`: one that has lost its sense stays as it is. */
  | { kind: 'VIEW'; place: Place; query: string; kept?: true }

/** Of whoever has their turn. */
export interface Hands {
  /** Within the transaction that holds the turn: for rows of the ledger. */
  ledger: Session
  /** Beside it: for tables and views, and whatever is asked about them. */
  tables: Session
}

/** Undefined where nothing was decided. */
export async function finish(dialect: Dialect, hands: Hands): Promise<Place[] | undefined> {
  const { ledger, tables } = hands
  const decisions = (await entriesIn(dialect, ledger, 'decisions')) as Map<string, Decision>
  if (decisions.size === 0) return undefined
  const aside: Place[] = []
  for (const [id, { steps, marks, forgotten, run }] of decisions) {
    const taken = await takeAll(dialect, hands, steps)
    await forget(dialect, ledger, 'decisions', id)
    if (!taken) continue
    aside.push(...taken)
    for (const gone of forgotten) await dropMark(dialect, ledger, gone)
    for (const known of marks) {
      const relation = await findRelation(dialect, tables, known.place)
      if (relation && relation.id !== known.id) await setMark(dialect, ledger, relation.id, known.mark)
    }
    if (run && !(await publishedBy(dialect, ledger, run.run))) await enterRun(dialect, ledger, run.run, run)
  }
  return aside
}

/**
 * Undefined where a step cannot be taken any more: what it needs was dropped, or its place taken, by hand. Then nothing is said of any, and
 * the run can be published again.
 */
async function takeAll(dialect: Dialect, hands: Hands, steps: readonly Step[]): Promise<Place[] | undefined> {
  const aside: Place[] = []
  for (const step of steps) {
    const taken = await take(dialect, hands, step)
    if (!taken) return undefined
    aside.push(...taken)
  }
  return aside
}

/** Answers what it has put aside; undefined as above. */
async function take(dialect: Dialect, { ledger, tables }: Hands, step: Step): Promise<Place[] | undefined> {
  const { changes } = dialect
  const place = step.kind === 'SWAP' ? { schema: step.schema, name: step.to } : step.place
  const there = new Map(
    (await dialect.catalogue.relations(tables, [place.schema])).map((relation) => [relation.name, relation]),
  )
  const standing = there.get(place.name)
  const act = (statements: readonly Sql[]) =>
    unlessLate(dialect, shownAs(place), async () => {
      // Whoever has lost their turn meanwhile changes nothing any more.
      await ledger.rows(plain('select 1 as held'))
      for (const statement of statements) await tables.execute(statement)
    })
  if (step.kind === 'DROP') {
    if (standing?.id === step.id) await act([step.view ? changes.dropView(place) : changes.dropTable(place)])
    return []
  }
  if (step.kind === 'VIEW') {
    const without = step.kept ? [] : undefined
    if (standing?.kind === 'TABLE') return without
    try {
      // A text that was decided on by a version which allowed more is refused here, and holds nothing else up.
      await act(standing ? changes.changeView!(place, step.query) : changes.createView(place, step.query))
      return []
    } catch (error) {
      const problem = problemOf(dialect, error, shownAs(place))
      if (!(problem instanceof WarehouseProblem) || problem.retryable) throw error
      return without
    }
  }
  const from = { schema: step.schema, name: step.from }
  if (!there.has(step.from)) {
    const isDone = standing !== undefined && (step.aside === undefined || there.has(step.aside))
    return isDone ? [] : undefined
  }
  await act(changes.grant(from, 'READ'))
  if (standing) {
    if (step.aside === undefined) return undefined
    if (there.has(step.aside)) throw inTheWay(place)
    await act([changes.rename(place, step.aside)])
  }
  await act([changes.rename(from, step.to)])
  return standing ? [{ schema: step.schema, name: step.aside! }] : []
}

/** Such a server may have no end of its own to waiting for a lock. */
export async function unlessLate(dialect: Dialect, what: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    throw dialect.explain(error)?.code === 'QUERY_TIMEOUT' ? inUse(what, error) : error
  }
}

const inTheWay = (place: Place) =>
  new WarehouseProblem(
    'TABLE_NOT_OURS',
    `Somebody put another ${shownAs(place)} there while it was being published. Move that away: until then nothing can be published.`,
  )
