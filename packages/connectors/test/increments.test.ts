import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import { isLongRun, longRunOnly } from '@sluice/testing/long-test-runs'
import { itUnless } from '@sluice/testing/skip-tests'
import { scratchWarehouseForAll, word } from '@sluice/warehouses/testing/scratch-warehouse'
import { openHarness, type ConnectorHarness } from './connector-harness.ts'
import type { ConnectorFixture, StandIn } from './connector-fixture.ts'
import { connectorFixtures } from './all-connector-fixtures.ts'
import fc from 'fast-check'

/** What happens to one record, so many seconds after what was before. */
interface Change {
  seconds: number
  id: number
  does: 'EDIT' | 'DELETE'
  /** Absent: cleared. */
  extra?: string | undefined
  children: string[]
}

/** What happens between two readings, and what happens while the second of them is under way: behind so many of its answers. */
interface Step {
  before: Change[]
  meanwhile: (Change & { answers: number })[]
}

const change = fc.record<Change>({
  seconds: fc.constantFrom(1, 60, 301, 900),
  id: fc.integer({ min: 1, max: 4 }),
  does: fc.constantFrom('EDIT', 'EDIT', 'EDIT', 'DELETE'),
  extra: fc.constantFrom(undefined, 'x', 'y', ''),
  children: fc.constantFrom<string[]>([], ['Ann'], ['Ann', 'Ben'], ['Ben', 'Cid', 'Ann']),
})
const step = fc.record<Step>({
  before: fc.array(change, { maxLength: 3 }),
  meanwhile: fc.array(
    fc.tuple(change, fc.integer({ min: 1, max: 8 })).map(([item, answers]) => ({ ...item, answers })),
    { maxLength: 3 },
  ),
})
const history = fc.array(step, { minLength: 2, maxLength: 4 })

const edit = (id: number, more: Partial<Change> = {}): Change => ({
  seconds: 60,
  id,
  does: 'EDIT',
  children: [],
  ...more,
})
const first: Step = {
  before: [1, 2, 3].map((id) => edit(id, { extra: 'x', children: ['Ann', 'Ben'] })),
  meanwhile: [],
}
/** One record loses a value and a row of its group; another all rows; nothing else changes. */
const cleared: Step[] = [
  first,
  { before: [edit(2, { seconds: 900, children: ['Ben'] })], meanwhile: [] },
  { before: [edit(3, { seconds: 900, extra: 'y' })], meanwhile: [] },
]
/** A record that was read already changes, and minutes later one that is not read yet. */
const during = (answers: number): Step[] => [
  first,
  {
    before: [edit(1, { seconds: 900, extra: 'y' }), edit(2, { extra: 'y' }), edit(3, { extra: 'y' })],
    meanwhile: [edit(1, { extra: 'late' }), edit(2, { seconds: 900 }), edit(3, { seconds: 1 })].map((item) => ({
      ...item,
      answers,
    })),
  },
  { before: [], meanwhile: [] },
]

/** If a source does not report edits, each change is a new record. */
const newRecords = (steps: readonly Step[]): Step[] => {
  let id = 0
  const own = <One extends Change>(item: One): One => ({ ...item, id: (id += 1), does: 'EDIT' })
  return steps.map(({ before, meanwhile }) => ({ before: before.map(own), meanwhile: meanwhile.map(own) }))
}

const epoch = Date.UTC(2026, 0, 1)
/** Random histories of each source. A short run tests the two fixed ones above. */
const histories = drawCount({ short: 0, long: 60 })
type Cells = Record<string, string>

function lawOf(fixture: ConnectorFixture, positions: readonly number[]): void {
  const scratch = scratchWarehouseForAll()
  let [harness, standIn]: [ConnectorHarness, StandIn] = [undefined!, undefined!]
  beforeAll(async () => {
    harness = await openHarness(scratch)
    standIn = await fixture.start()
    standIn.people.pageSize = 2
    standIn.server.clock = () => new Date(epoch + standIn.people.now! * 1_000)
  })
  afterAll(async () => {
    await standIn?.server[Symbol.asyncDispose]()
    await harness?.[Symbol.asyncDispose]()
  })

  function apply({ seconds, id, does, extra, children }: Change): void {
    const { people } = standIn
    people.now! += seconds
    if (gone.has(id)) return
    const known = people.page({ wanted: (person) => person.id === id }).length > 0
    if (does === 'EDIT' || !known) return people.put({ id, extra: extra!, children }, people.now)
    if (!standIn.remove) return
    gone.add(id)
    standIn.remove(id, people.now!)
  }
  const gone = new Set<number>()

  const load = async (table: string, mode: 'FULL' | 'INCREMENTAL') => {
    const { settings, secrets } = standIn
    harness.table = table
    await harness.load({ type: fixture.type, settings, secrets, input: {} }, mode)
  }

  /** The rows of all tables, by their names behind the pipeline's own, without those that are marked as deleted and what belongs to them. */
  async function rowsOf(table: string): Promise<Record<string, Cells[]>> {
    const { tables } = (await scratch.warehouse.loader.findLastLoad('health', table)).cursor as { tables: string[] }
    const found: Record<string, Cells[]> = {}
    for (const name of tables) {
      const { rows } = await scratch.superuser.query<{ row: Record<string, unknown> }>(
        `select to_jsonb(t) as row from health."${name}" t`,
      )
      found[name.slice(table.length)] = rows.map(({ row }) => cellsOf(row))
    }
    const isMarked = (row: Cells) =>
      fixture.deletedColumn !== undefined && ![undefined, 'false'].includes(row[fixture.deletedColumn])
    const all = Object.entries(found)
    const deletedColumn = new Set(
      all.flatMap(([, rows]) => rows.filter(isMarked).map((row) => row[rootId] ?? row['_id']!)),
    )
    const kept = all.map(([name, rows]) => {
      const left = rows.filter((row) => !isMarked(row) && !deletedColumn.has(row['_root_row_id'] ?? ''))
      return [name, left.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))] as const
    })
    return Object.fromEntries(kept.filter(([, rows]) => rows.length > 0))
  }
  const rootId = fixture.columns.id

  async function holds(given: readonly Step[]): Promise<void> {
    const steps = fixture.unsupportedRules.edit ? newRecords(given) : given
    const [increments, whole] = [word('inc_'), word('all_')]
    const { people, server } = standIn
    people.clear()
    gone.clear()
    ;(standIn as { deleted?: Map<number, number> }).deleted?.clear()
    ;(standIn as { archived?: Set<number> }).archived?.clear()
    people.now = 10_000
    for (const { before, meanwhile } of steps) {
      before.forEach(apply)
      const late = meanwhile.toSorted((item, other) => item.answers - other.answers)
      let answers = 0
      server.onResponse = () => {
        answers += 1
        while (late.length > 0 && late[0]!.answers <= answers) apply(late.shift()!)
      }
      await load(increments, 'INCREMENTAL')
      delete server.onResponse
      // What the reading was too short for.
      late.forEach(apply)
    }
    people.now! += 60
    await load(increments, 'INCREMENTAL')
    await load(whole, 'FULL')
    expect(await rowsOf(increments)).toEqual(await rowsOf(whole))
  }

  it('return the same rows as a full read if records lose a value or rows of a group', async () => {
    await holds(cleared)
  })

  it.each(positions)('return the same rows as a full read if records change after response %i', async (answers) => {
    await holds(during(answers))
  })

  itUnless(histories > 0 ? undefined : longRunOnly)(
    'return the same rows as a full read for random histories',
    async () => {
      await fc.assert(fc.asyncProperty(history, holds), { numRuns: histories, endOnFailure: true })
    },
  )
}

/** Without what is null, since a table that is filled in full has no column that no record has. */
function cellsOf(row: Record<string, unknown>): Cells {
  const there = Object.entries(row).filter(([, value]) => value !== null)
  return Object.fromEntries(there.map(([name, value]) => [name, spelled(value)]).toSorted())
}

/** A moment is one, whether its column is of texts or of moments. */
function spelled(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/.test(text) ? new Date(text).toISOString() : text
}

/** The answers after which records change. A short run tests one of them for each source. */
const positions = [1, 2, 4]
const withIncrements = Object.values(connectorFixtures).filter(({ unsupportedRules }) => !unsupportedRules.increment)
describe.each(withIncrements.map((fixture, index) => ({ fixture, index })))(
  '$fixture.system, incremental reads',
  ({ fixture, index }) => lawOf(fixture, isLongRun ? positions : [positions[index % positions.length]!]),
)
