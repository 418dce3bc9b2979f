import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { sql, type Kysely } from 'kysely'
import pg from 'pg'
import { connect, keyRing, resealAll, resealColumn, type SealedColumn } from '../src/index.ts'

const server = process.env['TEST_DATABASE_URL']
if (!server) throw new Error('This test needs PostgreSQL: run it with npm test.')

const key = (id: string, byte: number) => `${id}:${Buffer.alloc(32, byte).toString('base64')}`
const [old, both, fresh] = [
  keyRing(key('old', 1)),
  keyRing(`${key('new', 2)},${key('old', 1)}`),
  keyRing(key('new', 2)),
]
const column: SealedColumn = { table: 'things', key: 'id', column: 'word' }
const purpose = (id: number | string) => `things.word:${id}`

let name: string
let db: Kysely<any>
beforeEach(async () => {
  name = `reseal_${process.pid}_${Date.now()}`
  await admin(`create database ${name}`)
  db = connect<any>(Object.assign(new URL(server), { pathname: `/${name}` }).href, { name: 'reseal-test' }).db
  await sql`create table things (id bigint primary key, word text)`.execute(db)
})
afterEach(async () => {
  await db.destroy()
  await admin(`drop database ${name} with (force)`)
})

async function admin(text: string): Promise<void> {
  const client = new pg.Client(server)
  await client.connect()
  await client.query(text)
  await client.end()
}

async function fill(count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, at) => at + 1)
  const words = ids.map((id) => old.seal(`word ${id}`, purpose(id)))
  await sql`insert into things select * from unnest(${ids}::bigint[], ${words}::text[])`.execute(db)
}

const words = async () =>
  (await sql<{ id: number; word: string }>`select id, word from things where word is not null order by id`.execute(db))
    .rows

describe('resealing', () => {
  it('seals every value with the newest key, prints counts, and does nothing on the second run', async () => {
    await fill(1203)
    await sql`insert into things values (0, null)`.execute(db)
    const lines: string[] = []
    expect(await resealAll(db, both, [column], (line) => lines.push(line))).toBe(true)
    expect(lines).toEqual([
      'things.word: 1203 resealed',
      'Everything is sealed with "new": older keys can be taken out of SECRET_KEYS.',
    ])
    for (const { id, word } of await words()) expect(fresh.open(word, purpose(id))).toBe(`word ${id}`)
    const before = await words()
    expect(await resealColumn(db, both, column)).toEqual({
      column: 'things.word',
      resealed: 0,
      unreadable: [],
      remaining: 0,
    })
    expect(await words()).toEqual(before)
  })

  it('skips and reports unreadable values and tells the operator to keep the older keys', async () => {
    await fill(3)
    const lost = keyRing(key('lost', 3)).seal('word 2', purpose(2))
    await sql`update things set word = ${lost} where id = 2`.execute(db)
    const lines: string[] = []
    expect(await resealAll(db, both, [column], (line) => lines.push(line))).toBe(false)
    expect(lines).toEqual([
      'things.word: 2 resealed, 1 left',
      expect.stringContaining('encrypted with key "lost"'),
      expect.stringContaining('Keep the older keys: 1 values'),
    ])
    expect((await words())[1]!.word).toBe(lost)
  })

  it('keeps concurrent writes of a running service that seals with an older or the newest key', async () => {
    await fill(400)
    const writes: Promise<unknown>[] = []
    const newest = new Map<number, string>()
    for (let id = 1; id <= 400; id += 3) {
      const ring = id % 2 === 0 ? old : both
      newest.set(id, `changed ${id}`)
      const sealed = ring.seal(`changed ${id}`, purpose(id))
      writes.push(sql`update things set word = ${sealed} where id = ${id}`.execute(db))
    }
    const [first] = await Promise.all([resealColumn(db, both, column), ...writes])
    const again = await resealColumn(db, both, column)
    expect([first.unreadable, again.unreadable, again.remaining]).toEqual([[], [], 0])
    for (const { id, word } of await words()) expect(fresh.open(word, purpose(id))).toBe(newest.get(id) ?? `word ${id}`)
  })
})
