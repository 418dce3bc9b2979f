import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { newReaderLogin, newReaderPassword, type ReaderServer } from '../src/warehouse-reader-logins.ts'
import type { ViewDefinition } from '../src/view-store.ts'
import type { Warehouse, WarehouseCredentials } from '../src/warehouse.ts'
import { columns, loadAll, never, numbered } from './row-fixtures.ts'

/** An open session of a reader. */
export interface ReaderSession extends AsyncDisposable {
  /** Returns the first column of the result. */
  read(query: string): Promise<unknown[]>
  [Symbol.asyncDispose](): Promise<void>
}

export interface ReaderSubject {
  readonly warehouse: Warehouse
  readonly client: WarehouseCredentials
  readonly readers: ReaderServer
  /** Another client on the same server. */
  readonly neighbour: { warehouse: Warehouse; client: WarehouseCredentials }
  /** Connects with the driver that other programs use. */
  connect(login: string, password: string, client?: WarehouseCredentials): Promise<ReaderSession>
  /** Returns a table's name for queries. */
  place(schema: string, table: string, client?: WarehouseCredentials): string
  /** Statements that change data or read what no reader may read. `own` is a table that the reader reads. */
  forbidden(own: string): string[]
}

const two = columns({ id: 'INTEGER', name: 'TEXT' })

/** What every warehouse with readers does. */
export function readersSuite(subject: ReaderSubject): void {
  const { place, connect } = subject
  const load = (schema: string, table: string, rows = 3, value: string | number = 'x') =>
    loadAll(subject.warehouse, { schema, table, columns: two }, numbered(rows, value))
  const defineView = (view: Partial<ViewDefinition> & Pick<ViewDefinition, 'schema' | 'name' | 'query'>) =>
    subject.warehouse.views.define({ id: randomUUID(), materialized: false, ...view }, { seconds: 20 }, never)
  const define = (login: string, schemas: string[], password?: string, active = true) =>
    subject.readers.define(subject.client, { login, schemas, active }, password)
  async function newReader(schemas: string[]) {
    const [login, password] = [newReaderLogin(subject.client.key), newReaderPassword()]
    await define(login, schemas, password)
    return { login, password }
  }
  const outcome = (attempt: Promise<unknown>) => attempt.then(() => 'done').catch(() => 'failed')

  describe('a reader', () => {
    beforeAll(async () => {
      for (const schema of ['health', 'finance', 'Überblick "1"']) await subject.warehouse.catalog.ensureSchema(schema)
      await load('health', 'cases')
      await load('finance', 'budget')
      await load('Überblick "1"', 'notes', 2)
      await defineView({ schema: 'health', name: 'few_cases', query: 'select id from cases where id < 3' })
    })

    it('reads the tables and views of its schemas, those that exist and those that are created later', async () => {
      const { login, password } = await newReader(['health', 'Überblick "1"'])
      await using session = await connect(login, password)
      expect(await session.read(`select count(*) from ${place('health', 'cases')}`)).toEqual(['3'])
      expect(await session.read(`select count(*) from ${place('health', 'few_cases')}`)).toEqual(['2'])
      expect(await session.read(`select count(*) from ${place('Überblick "1"', 'notes')}`)).toEqual(['2'])
      await load('health', 'later', 5)
      await defineView({ schema: 'health', name: 'later_view', query: 'select id from later where id > 3' })
      expect(await session.read(`select count(*) from ${place('health', 'later')}`)).toEqual(['5'])
      expect(await session.read(`select count(*) from ${place('health', 'later_view')}`)).toEqual(['2'])
    })

    it('reads no other schema, no other client and nothing hidden, and writes nothing', async () => {
      const { login, password } = await newReader(['health'])
      await loadAll(subject.neighbour.warehouse, { schema: 'health', table: 'cases', columns: two }, numbered(1))
      await using session = await connect(login, password)
      const refused = [
        `select * from ${place('finance', 'budget')}`,
        `select * from ${place('health', 'cases', subject.neighbour.client)}`,
        ...subject.forbidden(place('health', 'cases')),
      ]
      for (const query of refused) expect([query, await outcome(session.read(query))]).toEqual([query, 'failed'])
      expect(await session.read(`select count(*) from ${place('health', 'cases')}`)).toEqual(['3'])
      await expect(connect(login, 'wrong')).rejects.toThrow()
    })

    it('gets schemas and loses them, together with its sessions', async () => {
      const { login, password } = await newReader(['health', 'finance'])
      const queries = [place('health', 'cases'), place('finance', 'budget')].map((name) => `select * from ${name}`)
      {
        await using session = await connect(login, password)
        for (const query of queries) expect(await outcome(session.read(query))).toBe('done')
        await define(login, ['health'])
        expect(await outcome(session.read(queries[1]!))).toBe('failed')
      }
      await using session = await connect(login, password)
      expect([await outcome(session.read(queries[0]!)), await outcome(session.read(queries[1]!))]).toEqual([
        'done',
        'failed',
      ])
      await define(login, ['health', 'finance'])
      expect(await outcome(session.read(queries[1]!))).toBe('done')
    })

    it('keeps its password when it is defined again, and a new password replaces the old one', async () => {
      const { login, password } = await newReader(['health'])
      await define(login, ['health'])
      const query = `select * from ${place('health', 'cases')}`
      await using before = await connect(login, password)
      expect(await outcome(before.read(query))).toBe('done')
      const next = newReaderPassword()
      await define(login, ['health'], next)
      await expect(connect(login, password)).rejects.toThrow()
      await using after = await connect(login, next)
      expect(await outcome(after.read(query))).toBe('done')
    })

    it('is listed, cannot connect while it is inactive, and ends when it is dropped', async () => {
      const { login, password } = await newReader(['health'])
      const state = async () => (await subject.readers.observe()).find((reader) => reader.login === login)
      const query = `select * from ${place('health', 'cases')}`
      expect(await state()).toMatchObject({ login, active: true })
      {
        await using session = await connect(login, password)
        await define(login, ['health'], undefined, false)
        expect(await outcome(session.read(query))).toBe('failed')
      }
      await expect(connect(login, password)).rejects.toThrow()
      expect(await state()).toEqual({ login, active: false, sessions: 0 })
      await define(login, ['health'])
      {
        await using session = await connect(login, password)
        expect(await outcome(session.read(query))).toBe('done')
        await subject.readers.drop(login)
        expect(await outcome(session.read(query))).toBe('failed')
      }
      await expect(connect(login, password)).rejects.toThrow()
      expect(await state()).toBeUndefined()
      await subject.readers.drop(login)
    })

    it('fails no query while a hundred loads replace the table, widen it and rebuild the view over it', async () => {
      const { login, password } = await newReader(['health'])
      await load('health', 'swapped', 100, 0)
      await defineView({ schema: 'health', name: 'over_swapped', query: 'select id, name from swapped' })
      const reading = { on: true, reads: 0 }
      const seen = new Set<string>()
      const loops = ['swapped', 'over_swapped'].map(async (table) => {
        await using session = await connect(login, password)
        for (; reading.on; reading.reads += 1)
          for (const value of await session.read(`select count(*) from ${place('health', table)}`)) seen.add(`${value}`)
      })
      const types = ['TEXT', 'TEXT', 'INTEGER', 'DATE']
      for (let round = 0; round < 100; round += 1) {
        // A new name of the last column changes the table, and every other change of its type rebuilds the view.
        const shape = columns({ id: 'INTEGER', name: types[round % types.length]!, [`more_${round % 3}`]: 'TEXT' })
        const value = ['text', 'other', 7, '2026-01-02'][round % types.length]!
        const rows = Array.from({ length: 100 }, (_, id): [number, string | number, string] => [id, value, 'y'])
        await loadAll(subject.warehouse, { schema: 'health', table: 'swapped', columns: shape }, rows)
      }
      reading.on = false
      await Promise.all(loops)
      expect([...seen]).toEqual(['100'])
      expect(reading.reads).toBeGreaterThan(100)
    }, 1_200_000)
  })
}
