import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { freePort } from '../postgres/free-port.ts'
import { isAlive } from '../postgres/clear-stale-server.ts'
import { deleteDataFolder } from '../postgres/accessible-folders.ts'
import { type Start, createStandInFolder, startStandIns } from './fake-app-programs.ts'

const folder = createStandInFolder({ 'packages/words/src/words.ts': 'export const word = 1\n' })
const ports = { IDENTITY_PORT: '', PIPELINE_PORT: '', WORKER_PORT: '' }
let run: Start

beforeAll(async () => {
  let port = 13_700
  for (const name of Object.keys(ports) as (keyof typeof ports)[])
    ports[name] = String((port = await freePort(port + 1)))
  run = startStandIns(folder, ports, 'dev')
  await run.until('restart the services that run them')
})
afterAll(async () => {
  run.child.kill('SIGINT')
  await run.ended
  await deleteDataFolder(join(folder, 'state/postgres'))
  await deleteDataFolder(folder)
})

const source = (file: string): string => readFileSync(join(folder, file), 'utf8')
const save = (file: string, text: string): void => writeFileSync(join(folder, file), text)
const pids = (): Promise<number[]> =>
  Promise.all(Object.values(ports).map(async (port) => Number(await (await fetch(`http://127.0.0.1:${port}/`)).text())))
/** What was printed after `action`, as soon as it matches. */
const printedAfter = async (action: () => void, pattern: RegExp): Promise<string> => {
  const before = run.said().length
  action()
  for (const end = Date.now() + 20_000; Date.now() < end; await sleep(20))
    if (pattern.test(run.said().slice(before))) return run.said().slice(before)
  throw new Error(`${String(pattern)} was not printed: ${run.said().slice(before)}`)
}

describe('npm run dev', () => {
  const serve = 'apps/identity/bin/serve.ts'

  it('restarts only the service whose source was saved', async () => {
    const [identity, ...others] = await pids()
    const printed = await printedAfter(() => save(serve, `${source(serve)}\n// changed\n`), /restarted/)
    expect(printed).toMatch(/^● identity restarted in \d+\.\d s \(apps\/identity\/bin\/serve\.ts\)\n$/)
    const [next, ...same] = await pids()
    expect(next).not.toBe(identity)
    expect(same).toEqual(others)
  })

  it('restarts the service each time an editor replaces a file by a rename', async () => {
    for (const round of [1, 2]) {
      await printedAfter(() => {
        save('beside.tmp', `${source(serve)}\n// round ${round}\n`)
        renameSync(join(folder, 'beside.tmp'), join(folder, serve))
      }, /identity restarted/)
    }
  })

  it('restarts only the services that depend on a changed package', async () => {
    const [identity] = await pids()
    const words = 'packages/words/src/words.ts'
    const both = /(pipeline|pipeline-worker) restarted[^]*(pipeline|pipeline-worker) restarted/
    const printed = await printedAfter(() => save(words, 'export const word = 2\n'), both)
    expect(printed).not.toContain('identity')
    expect((await pids())[0]).toBe(identity)
  })

  it('restarts the service when a source in a new folder is created or changed', async () => {
    await printedAfter(() => {
      mkdirSync(join(folder, 'apps/identity/src/pages'), { recursive: true })
      save('apps/identity/src/pages/page.ts', 'export const page = 1\n')
    }, /identity restarted/)
    await printedAfter(() => save('apps/identity/src/pages/page.ts', 'export const page = 2\n'), /identity restarted/)
  })

  it('does not restart a service when a test file is saved', async () => {
    const before = await pids()
    save('apps/identity/bin/serve.test.ts', 'test\n')
    await sleep(300)
    expect(await pids()).toEqual(before)
  })

  it('reports a syntax error once, keeps the service running, and restarts it after the next valid save', async () => {
    const [identity] = await pids()
    const good = source(serve)
    const printed = await printedAfter(() => save(serve, `${good}const broken = ;\n`), /broken = ;/)
    expect(printed).toContain(`${serve}:${good.split('\n').length}:`)
    expect(printed.match(/✘|error/gi)).toHaveLength(3)
    expect((await pids())[0]).toBe(identity)
    await printedAfter(() => save(serve, good), /identity restarted/)
    expect((await pids())[0]).not.toBe(identity)
  })

  it('reports a service that does not start, and starts it after the next save', async () => {
    const good = source(serve)
    const printed = await printedAfter(() => save(serve, `import { nothing } from 'node:path'\n${good}`), /SyntaxError/)
    expect(printed).toContain('identity ended (exit code 1) and starts again when a source is saved')
    expect(printed).toContain(serve)
    await printedAfter(() => save(serve, good), /identity restarted/)
  })

  it('stops the services and PostgreSQL on SIGINT', async () => {
    const before = await pids()
    const file = join(folder, 'state/postgres/cluster/postmaster.pid')
    const database = Number.parseInt(readFileSync(file, 'utf8'), 10)
    run.child.kill('SIGINT')
    expect(await run.ended).toBe(0)
    expect([...before, database].filter(isAlive)).toEqual([])
    expect(existsSync(join(folder, 'state/local.json'))).toBe(false)
  })
})
