import { describe, expect, it } from '@jest/globals'
import { setImmediate as soon } from 'node:timers/promises'
import { RowEncoder } from '@sluice/row-stream'
import oracledb from 'oracledb'
import { databaseLimits } from '../database-config.ts'
import type { OracleField } from '../../oracle/column-types.ts'
import { writeAllRows, type OracleRows, getRowsPerResponse } from '../../oracle/oracle-session.ts'
import { type TupleBatch, TupleSink } from '../tuple-sink.ts'

const fields: OracleField[] = [{ name: 'BODY', dbType: oracledb.DB_TYPE_CLOB }]
const columns = [{ label: 'BODY', dataType: 'TEXT' as const }]

/** The rows of a query from a stand-in; `asked` lists how many rows each call requested. */
function played(rows: unknown[][], failure?: Error) {
  const heard = { asked: [] as number[], closed: 0 }
  const result: OracleRows = {
    async getRows(atOnce) {
      heard.asked.push(atOnce)
      if (rows.length === 0 && failure) throw failure
      return rows.splice(0, atOnce)
    },
    async close() {
      heard.closed++
      throw new Error('NJS-018: invalid ResultSet')
    },
  }
  return { result, heard }
}

function taken(chunksInFlight = 100) {
  const batches: TupleBatch[] = []
  const sink = new TupleSink(
    { ...databaseLimits, chunkBytes: 4096, chunksInFlight },
    () => 0,
    (batch) => batches.push(batch),
  )
  return { batches, sink, encoder: new RowEncoder(columns, sink.buffer) }
}

describe('Oracle row fetching', () => {
  it('requests fewer rows per response if a column may hold large values', () => {
    const { DB_TYPE_NUMBER, DB_TYPE_VARCHAR, DB_TYPE_CLOB, DB_TYPE_BLOB, DB_TYPE_LONG, DB_TYPE_LONG_RAW } = oracledb
    expect(getRowsPerResponse([{ dbType: DB_TYPE_NUMBER }, { dbType: DB_TYPE_VARCHAR }])).toBe(1000)
    for (const dbType of [DB_TYPE_CLOB, DB_TYPE_BLOB, DB_TYPE_LONG, DB_TYPE_LONG_RAW])
      expect(getRowsPerResponse([{ dbType: DB_TYPE_NUMBER }, { dbType }])).toBe(16)
  })

  it('writes and counts all rows, and closes the cursor', async () => {
    const { result, heard } = played(Array.from({ length: 40 }, (_, index) => [`row ${index}`]))
    const { sink, encoder } = taken()
    let received = 0
    await writeAllRows(result, fields, encoder, sink, (rows) => (received += rows))
    expect([sink.rows, received, heard.closed]).toEqual([40, 40, 1])
    expect(heard.asked).toEqual([16, 16, 16, 16])
  })

  it('pauses within a response until the consumer grants more credit', async () => {
    const { result } = played(Array.from({ length: 16 }, () => ['x'.repeat(5000)]))
    const { batches, sink, encoder } = taken(2)
    const reading = writeAllRows(result, fields, encoder, sink, () => {})
    for (let turn = 0; turn < 10; turn++) await soon()
    expect([batches.length, sink.rows]).toEqual([2, 2])
    while (sink.rows < 16) {
      sink.addCredit()
      await soon()
    }
    sink.addCredit()
    await reading
  })

  it('closes the cursor and rethrows the error when fetching fails', async () => {
    const { result, heard } = played([['first']], new Error('ORA-01555: snapshot too old'))
    const { sink, encoder } = taken()
    await expect(writeAllRows(result, fields, encoder, sink, () => {})).rejects.toThrow('ORA-01555')
    expect(heard.closed).toBe(1)
  })
})
