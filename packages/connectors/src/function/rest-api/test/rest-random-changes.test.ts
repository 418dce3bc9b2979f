import { expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import fc from 'fast-check'
import type { StandInRequest, StandInResponse } from '../../../../test/stand-in-server.ts'
import type { RestApiSettings } from '../rest-request.ts'
import { openRestHarness } from './rest-harness.ts'

const rest = openRestHarness()

interface SourceRecord {
  id: number
  name: string
  /** Rows of a group. */
  tags: string[]
  /** Seconds since 2026. */
  at: number
}

/** A change before an increment: edits, each some seconds after the previous one, or a restored backup of some steps ago. */
type HistoryStep =
  | { edits: { seconds: number; id: number; name: string; tags: string[] }[] }
  | { restoredSteps: number }

interface History {
  paging: keyof typeof pagings
  cursorType: 'TIMESTAMP' | 'UNIX_SECONDS'
  pageSize: number
  steps: HistoryStep[]
}

const pagings = {
  LINK_HEADER: { type: 'LINK_HEADER' },
  NEXT_LINK: { type: 'NEXT_LINK', path: 'next' },
  CURSOR: { type: 'CURSOR', path: 'cursor', parameter: 'skip' },
  LAST_RECORD: { type: 'CURSOR', lastRecordField: 'id', parameter: 'after_id' },
  PAGE: { type: 'PAGE', parameter: 'page', total: 'total' },
  OFFSET: { type: 'OFFSET', parameter: 'skip' },
} as const satisfies Record<string, NonNullable<RestApiSettings['paging']>>

const epoch = Date.UTC(2026, 0, 1)
const toTime = (seconds: number) => new Date(epoch + seconds * 1_000).toISOString()

const history = fc.record<History>({
  paging: fc.constantFrom(...(Object.keys(pagings) as (keyof typeof pagings)[])),
  cursorType: fc.constantFrom('TIMESTAMP', 'UNIX_SECONDS'),
  pageSize: fc.integer({ min: 1, max: 3 }),
  steps: fc.array(
    fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          edits: fc.array(
            fc.record({
              seconds: fc.constantFrom(1, 60, 301, 4_000),
              id: fc.integer({ min: 1, max: 6 }),
              name: fc.constantFrom('Ann', 'Ben', 'Cid'),
              tags: fc.constantFrom<string[]>([], ['a'], ['a', 'b']),
            }),
            { maxLength: 4 },
          ),
        }),
      },
      { weight: 1, arbitrary: fc.record({ restoredSteps: fc.integer({ min: 1, max: 3 }) }) },
    ),
    { minLength: 2, maxLength: 6 },
  ),
})

/** Answers with a page of the records that changed at a time or later, in the order of their ids. */
function respondWith(records: readonly SourceRecord[], { pageSize, cursorType }: History) {
  return ({ query, path }: StandInRequest): StandInResponse => {
    const since = query.get('since')
    const sinceTime =
      since === null ? -Infinity : cursorType === 'TIMESTAMP' ? Date.parse(since) : Number(since) * 1_000
    const matching = records.filter(({ at }) => epoch + at * 1_000 >= sinceTime)
    const afterId = query.get('after_id')
    const skip =
      afterId === null
        ? Number(query.get('skip') ?? (Number(query.get('page') ?? 1) - 1) * pageSize)
        : matching.findIndex(({ id }) => id > Number(afterId))
    const items = skip < 0 ? [] : matching.slice(skip, skip + pageSize)
    const cursor = skip + pageSize < matching.length ? skip + pageSize : null
    const parameters = new URLSearchParams(query)
    parameters.set('skip', String(cursor))
    const next = cursor === null ? null : `${path}?${parameters}`
    return {
      headers: next === null ? {} : { link: `<${next}>; rel="next"` },
      body: {
        items: items.map(({ at, tags, ...record }) => ({
          ...record,
          tags: tags.map((tag) => ({ tag })),
          at: cursorType === 'TIMESTAMP' ? toTime(at) : epoch / 1_000 + at,
        })),
        next,
        cursor,
        total: matching.length,
      },
    }
  }
}

/** Returns the rows of the group. Its table exists after the first record with tags. */
async function readTags(table: string): Promise<unknown[]> {
  rest.harness.table = `${table}__tags`
  const rows = await rest.harness.values('_row_id', 'tag').catch((error: { code?: string }) => {
    if (error.code !== '42P01') throw error
    return []
  })
  rest.harness.table = table
  return rows
}

async function expectSameRows(given: History): Promise<void> {
  rest.harness.table = `rows_${Math.random().toString(36).slice(2)}`
  const settings: RestApiSettings = {
    records: 'items',
    key: ['id'],
    columns: [{ name: 'name' }],
    paging: pagings[given.paging],
    increment: { cursorField: 'at', parameter: 'since', cursorType: given.cursorType },
  }
  let now = 0
  let records: SourceRecord[] = []
  const backups: SourceRecord[][] = []
  for (const step of given.steps) {
    backups.push(records)
    if ('restoredSteps' in step) records = backups.at(-1 - step.restoredSteps) ?? []
    else
      for (const { seconds, id, name, tags } of step.edits) {
        now += seconds
        records = [...records.filter((record) => record.id !== id), { id, name, tags, at: now }].toSorted(
          (one, other) => one.id - other.id,
        )
      }
    rest.respond = respondWith(records, given)
    rest.server.clock = () => new Date(epoch + now * 1_000)
    await rest.load(settings, 'INCREMENTAL')
    expect(await rest.harness.values('id', 'name')).toEqual(records.map(({ id, name }) => [String(id), name]))
    expect(await readTags(rest.harness.table)).toEqual(
      records.flatMap(({ id, tags }) => tags.map((tag, index) => [`${id}/tags[${index}]`, tag])),
    )
  }
}

it('has the same rows after any sequence of increments as after one full load, also after a restored backup', async () => {
  await fc.assert(fc.asyncProperty(history, expectSameRows), { numRuns: drawCount({ short: 8, long: 60 }) })
})
