import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { defaultDelimitedLimits } from '../../delimited/limits.ts'
import { detectText } from '../../delimited/open-delimited-rows.ts'
import { DelimitedReader, type EncodingOutcome } from '../../delimited/delimited-reader.ts'
import type { StoredType } from '@sluice/row-stream'
import { drawCount } from '@sluice/testing/random-case-count'
import type { Client } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { textOf } from '../../../test/delimited/read-text.ts'
import { sqlType } from '@sluice/row-stream/testing/sql-type'
import { connected, superuserUrl, word } from '@sluice/warehouses/testing/scratch-warehouse'
import { type PrintedColumn, printedColumns } from './printed-values.ts'
import fc from 'fast-check'

const runs = drawCount({ short: 6, long: 200 })
const header = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])

describe('COPY tuples of delimited text', () => {
  let client: Client
  const [ours, theirs] = [word('ours_'), word('theirs_')]

  beforeAll(async () => {
    client = await connected(superuserUrl())
    await client.query(`set timezone = 'UTC'`)
  })
  afterAll(async () => {
    await client?.query(`drop table if exists ${ours}, ${theirs}`)
    await client?.end()
  })

  async function copy(table: string, format: string, bytes: Buffer): Promise<void> {
    const stream = client.query(copyFrom(`copy ${table} from stdin (${format})`))
    stream.end(bytes)
    await once(stream, 'finish')
  }

  /** Both tables, from the same values: one of our tuples, one of what PostgreSQL itself reads. */
  async function load(columns: readonly PrintedColumn[], rows: readonly (readonly [string, string])[][]) {
    const stored = columns.map(({ type }) => type)
    const list = stored.map((type, index) => `c${index} ${sqlType(type)}`).join(', ')
    await client.query(`drop table if exists ${ours}, ${theirs}`)
    await client.query(`create table ${ours} (${list}); create table ${theirs} (${list})`)
    const text = (side: 0 | 1) => rows.map((row) => row.map((cell) => cell[side]).join(',') + '\n').join('')
    const tuples = encoded(text(0), stored)
    await copy(ours, 'format binary', Buffer.concat([header, tuples, Buffer.from([0xff, 0xff])]))
    await copy(theirs, 'format csv', Buffer.from(text(1)))
  }

  const rowsOf = async (table: string, columns: readonly PrintedColumn[]) => {
    const list = columns.map((_, index) => `c${index}::text`).join(', ')
    return (await client.query({ text: `select ${list} from ${table}`, rowMode: 'array' })).rows as unknown[][]
  }

  it.each(Object.entries(printedColumns))(
    'contain for %s the values that PostgreSQL reads from the same text',
    async (_, columns) => {
      const row = fc.tuple(
        ...columns.map(({ values }) => fc.oneof({ weight: 9, arbitrary: values }, fc.constant(empty))),
      )
      await fc.assert(
        fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 60 }), async (rows) => {
          await load(columns, rows)
          expect(await rowsOf(ours, columns)).toEqual(await rowsOf(theirs, columns))
        }),
        { numRuns: runs },
      )
    },
  )
})

const empty = ['', ''] as const

/** All tuples of a text without a header, its types guessed and stored as said. */
function encoded(text: string, stored: readonly StoredType[]): Buffer {
  const source = textOf(text)
  const options = {
    delimiter: 'COMMA',
    quote: 'DOUBLE',
    escape: 'DOUBLED',
    headerRow: false,
    skipLines: 0,
    footerLines: 0,
    trailingDelimiters: 0,
    trimSpaces: false,
    decimal: 'POINT',
  } as const
  const reading = new DelimitedReader(source, detectText(source, options).dialect, defaultDelimitedLimits)
  const chunks: Buffer[] = []
  const pass = reading.encode(stored)
  for (;;) {
    const step = pass.next()
    if (step.done) {
      assertTypesHeld(step.value)
      return Buffer.concat(chunks)
    }
    chunks.push(Buffer.from(step.value.tuples))
    if (step.value.rejected.length > 0) throw new Error(JSON.stringify(step.value.rejected[0]))
  }
}

function assertTypesHeld(outcome: EncodingOutcome): void {
  if ('widened' in outcome) throw new Error('All was looked at, and yet the types did not hold')
}
