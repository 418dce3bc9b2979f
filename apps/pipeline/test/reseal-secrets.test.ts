import { resolve } from 'node:path'
import { expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { connect, keyRing, resealAll } from '@sluice/database'
import { brokenSealRules, testDatabase } from '@sluice/testing'
import { migrationsFolder } from '../src/migrations.ts'
import { sealedColumns } from '../src/secrets/encrypted-secrets.ts'

const client = '2f1c8f0e-5f0b-4c7e-9b44-0d9c7e1f5a10'
const key = (id: string, byte: number) => `${id}:${Buffer.alloc(32, byte).toString('base64')}`

it('every encrypted column is listed, and resealAll encrypts its values with the newest key', async () => {
  await using database = await testDatabase({ migrations: migrationsFolder })
  await using connection = connect<any>(database.url, { name: 'pipeline-test' })
  const { db } = connection
  expect(await brokenSealRules(resolve(import.meta.dirname, '..'), database.url, sealedColumns)).toEqual([])

  const old = keyRing(key('old', 1))
  const [load, read] = ['load', 'read'].map((role) => old.seal(role, `warehouses.${role}_password:${client}`))
  await sql`insert into warehouses (client, key, load_password, read_password) values (${client}, 'k', ${load}, ${read})`.execute(
    db,
  )
  expect(await resealAll(db, keyRing(`${key('new', 2)},${key('old', 1)}`), sealedColumns, () => {})).toBe(true)
  const { rows } = await sql<{ load_password: string }>`select load_password from warehouses`.execute(db)
  expect(keyRing(key('new', 2)).open(rows[0]!.load_password, `warehouses.load_password:${client}`)).toBe('load')
})
