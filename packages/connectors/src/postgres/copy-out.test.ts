import { PassThrough } from 'node:stream'
import { describe, expect, it } from '@jest/globals'
import type { Connection } from 'pg'
import { databaseLimits } from '../database-connector/database-config.ts'
import { TupleSink } from '../database-connector/tuple-sink.ts'
import { CopyOut, UnexpectedFormat } from './copy-out.ts'

const int = (bytes: 2 | 4, value: number) => {
  const buffer = Buffer.alloc(bytes)
  buffer.writeIntBE(value, 0, bytes)
  return buffer
}
const copyData = (...parts: Buffer[]) => {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from('d'), int(4, body.length + 4), body])
}
/** A row with the field count and the field lengths given, whether or not they are true. */
const row = (count: number, ...fields: [length: number, text: string][]) =>
  copyData(int(2, count), ...fields.flatMap(([length, text]) => [int(4, length), Buffer.from(text)]))

const header = copyData(Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8))
const valid = row(2, [3, 'abc'], [-1, ''])

/** Reads the messages of a server that arrive in pieces of so many bytes. Returns the number of rows. */
async function read(messages: Buffer[], piece: number): Promise<number> {
  const sink = new TupleSink(
    databaseLimits,
    () => 0,
    () => {},
  )
  const copy = new CopyOut('copy', ['a', 'b'], sink)
  const stream = new PassThrough()
  stream.on('data', () => {})
  copy.submit({ stream, query() {} } as unknown as Connection)
  const bytes = Buffer.concat(messages)
  for (let from = 0; from < bytes.length; from += piece) stream.emit('data', bytes.subarray(from, from + piece))
  copy.handleReadyForQuery()
  await copy.done
  return sink.rows
}

describe.each([1, 7, 1_000])('rows that a server sends in pieces of %d bytes', (piece) => {
  it('are read if their fields are as long as they say', async () => {
    expect(await read([header, valid, row(2, [0, ''], [200, 'x'.repeat(200)]), copyData(int(2, -1))], piece)).toBe(2)
  })

  it.each([
    ['another number of fields', row(3, [1, 'a'], [1, 'b'], [1, 'c'])],
    ['fewer fields than they say', row(2, [1, 'a'])],
    ['a field that is longer than the row', row(2, [1, 'a'], [60, 'b'])],
    ['a field that is shorter than the row', row(2, [1, 'a'], [1, 'bc'])],
    ['a negative length', row(2, [1, 'a'], [-2, ''])],
  ])('end the load if they have %s', async (_, malformed) => {
    const reading = read([header, valid, malformed, valid], piece)
    await expect(reading).rejects.toThrow(UnexpectedFormat)
    await expect(reading).rejects.toThrow(
      'a row does not have 2 fields, or the lengths of its fields do not add up to the length of the row',
    )
  })
})
