import { execFileSync } from 'node:child_process'
import { chownSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { describeUnless } from '@sluice/testing/skip-tests'
import { unprivilegedUser } from '../../../../infra/postgres/os-user.ts'
import { finished } from '../worker/large-load.ts'
import { startStack, type Stack } from '../worker/worker-stack.ts'
import { spawnWorker } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import { connected } from '@sluice/warehouses/testing/scratch-warehouse'
import { on, type OwnWarehouse, startOwnWarehouse } from './separate-warehouse-server.ts'
import { ask, type Loaded, loadedPipelines, numbered, seen } from './pipelines-with-data.ts'

/** A disk of 8 MB, for PostgreSQL's user. Undefined where we may not mount one. */
async function smallDisk(): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-small-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=755', 'none', folder], { stdio: 'ignore' })
  } catch {
    await rm(folder, { recursive: true })
    return undefined
  }
  const user = unprivilegedUser()
  if (user) chownSync(folder, user.uid, user.gid)
  return folder
}

const disk = await smallDisk()

const missing = disk ? undefined : 'only root with the right to mount can make a small disk'
describeUnless(missing)('warehouse whose disk is full', () => {
  let plain: Stack
  let own: OwnWarehouse
  let stack: Stack
  let scene: Loaded
  beforeAll(async () => {
    own = await startOwnWarehouse()
    plain = await startStack()
    stack = on(own, plain)
    scene = (await loadedPipelines(stack, 1))[0]!
    const { rows } = await scene.client.query('select current_database() as name')
    await using superuser = await connected(own.url('postgres'))
    await superuser.query(`create tablespace small location '${disk}'`)
    await superuser.query('grant create on tablespace small to public')
    await superuser.query(`alter database ${rows[0].name} set default_tablespace = 'small'`)
  })
  afterAll(async () => {
    await scene?.client.end()
    await plain?.[Symbol.asyncDispose]()
    await own?.[Symbol.asyncDispose]()
    execFileSync('umount', [disk!])
    await rm(disk!, { recursive: true })
  })

  it('fails the run with DISK_FULL, drops the staging table, and accepts a later load that fits', async () => {
    await using _worker = await spawnWorker(stack.environment)
    const run = await ask(stack, scene.pipeline, numbered(2, 500_000))
    await finished(stack, run)
    await until(async () => (await seen(stack, scene, run)).jobs === 0)
    const failed = { state: 'FAILED', error_code: 'DISK_FULL', holds: [1], rows: 2, publications: 0, staging: 0 }
    expect(await seen(stack, scene, run)).toMatchObject(failed)
    expect((await stack.state(run)).message).toMatch(/is full/)
    const next = await ask(stack, scene.pipeline, numbered(3, 1_000))
    expect(await finished(stack, next)).toMatchObject({ state: 'OK', rows_written: 1_000 })
  })
})
