import { randomBytes } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from '@jest/globals'
import { Client } from 'pg'
import { state } from '../paths.ts'
import { startCluster } from './cluster.ts'
import { deleteDataFolder } from './accessible-folders.ts'

mkdirSync(state, { recursive: true })
const folder = mkdtempSync(join(state, 'copied-folder-test-'))
afterAll(async () => {
  for (const data of ['first', 'copy']) await deleteDataFolder(join(folder, data))
  rmSync(folder, { recursive: true })
})

const password = randomBytes(12).toString('hex')
const start = (name: string) =>
  startCluster({ folder: join(folder, name), log: join(folder, `${name}.log`), password, port: 17_450 })

/** Starts the copy. As root, the error may name the folder to which the copy must be moved. */
async function startCopy() {
  try {
    return await start('copy')
  } catch (error) {
    const [, target] = /Move it to (\S+), /.exec((error as Error).message) ?? []
    if (!target) throw error
    execFileSync('mv', [join(folder, 'copy'), target])
    return start('copy')
  }
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<{ a: number }>(sql)).rows.map(({ a }) => a)
  } finally {
    await client.end()
  }
}

it('a copy of a stopped cluster runs at the same time as the original, with its own port and the data of that time', async () => {
  {
    await using first = await start('first')
    await query(first.url('postgres'), 'create table kept as select 1 as a')
  }
  // As root, the folder may be a link to a folder that PostgreSQL can access.
  execFileSync('cp', ['--archive', '--dereference', join(folder, 'first'), join(folder, 'copy')])
  await using first = await start('first')
  await query(first.url('postgres'), 'insert into kept values (2)')
  await using copy = await startCopy()
  expect(copy.port).not.toBe(first.port)
  expect(await query(copy.url('postgres'), 'select a from kept')).toEqual([1])
  expect(await query(first.url('postgres'), 'select a from kept order by a')).toEqual([1, 2])
})
