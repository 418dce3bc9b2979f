import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { freePort } from '../postgres/free-port.ts'
import { isAlive } from '../postgres/clear-stale-server.ts'
import { deleteDataFolder } from '../postgres/accessible-folders.ts'
import { type StartedStandIns, createStandInFolder, startStandInPrograms } from './fake-app-programs.ts'

const folder = createStandInFolder({ 'packages/words/src/words.ts': 'export const word = 1\n' })
const ports = { IDENTITY_PORT: '', PIPELINE_PORT: '', WORKER_PORT: '' }
let run: StartedStandIns

beforeAll(async () => {
  let port = 13_700
  for (const name of Object.keys(ports) as (keyof typeof ports)[])
    ports[name] = String((port = await freePort(port + 1)))
  run = startStandInPrograms(folder, ports, 'dev')
  await run.waitForOutput('restart the services that run them')
})
afterAll(async () => {
  run.child.kill('SIGINT')
  await run.ended
  await deleteDataFolder(join(folder, 'state/postgres'))
  await deleteDataFolder(folder)
})

const readSource = (file: string): string => readFileSync(join(folder, file), 'utf8')
const save = (file: string, text: string): void => writeFileSync(join(folder, file), text)
const readPids = (): Promise<number[]> =>
  Promise.all(Object.values(ports).map(async (port) => Number(await (await fetch(`http://127.0.0.1:${port}/`)).text())))
/** Runs `action` and returns the output after it as soon as the output matches. */
const printedAfter = async (action: () => void, pattern: RegExp): Promise<string> => {
  const before = run.output().length
  action()
  for (const end = Date.now() + 20_000; Date.now() < end; await sleep(20))
    if (pattern.test(run.output().slice(before))) return run.output().slice(before)
  throw new Error(`${String(pattern)} was not printed: ${run.output().slice(before)}`)
}

describe('npm run dev', () => {
  const serve = 'apps/identity/bin/serve.ts'

  it('restarts only the service whose source was saved', async () => {
    const [identity, ...others] = await readPids()
    const printed = await printedAfter(() => save(serve, `${readSource(serve)}\n// changed\n`), /restarted/)
    expect(printed).toMatch(/^● identity restarted in \d+\.\d s \(apps\/identity\/bin\/serve\.ts\)\n$/)
    const [next, ...same] = await readPids()
    expect(next).not.toBe(identity)
    expect(same).toEqual(others)
  })

  it('restarts the service each time an editor replaces a file by a rename', async () => {
    for (const round of [1, 2]) {
      await printedAfter(() => {
        save('new-file.tmp', `${readSource(serve)}\n// round ${round}\n`)
        renameSync(join(folder, 'new-file.tmp'), join(folder, serve))
      }, /identity restarted/)
    }
  })

  it('restarts only the services that depend on a changed package', async () => {
    const [identity] = await readPids()
    const words = 'packages/words/src/words.ts'
    const both = /(pipeline|pipeline-worker) restarted[^]*(pipeline|pipeline-worker) restarted/
    const printed = await printedAfter(() => save(words, 'export const word = 2\n'), both)
    expect(printed).not.toContain('identity')
    expect((await readPids())[0]).toBe(identity)
  })

  it('restarts the service when a source in a new folder is created or changed', async () => {
    await printedAfter(() => {
      mkdirSync(join(folder, 'apps/identity/src/pages'), { recursive: true })
      save('apps/identity/src/pages/page.ts', 'export const page = 1\n')
    }, /identity restarted/)
    await printedAfter(() => save('apps/identity/src/pages/page.ts', 'export const page = 2\n'), /identity restarted/)
  })

  it('does not restart a service when a test file is saved', async () => {
    const before = await readPids()
    save('apps/identity/bin/serve.test.ts', 'test\n')
    await sleep(300)
    expect(await readPids()).toEqual(before)
  })

  it('reports a syntax error once, keeps the service running, and restarts it after the next valid save', async () => {
    const [identity] = await readPids()
    const good = readSource(serve)
    const printed = await printedAfter(() => save(serve, `${good}const broken = ;\n`), /broken = ;/)
    expect(printed).toContain(`${serve}:${good.split('\n').length}:`)
    expect(printed.match(/✘|error/gi)).toHaveLength(3)
    expect((await readPids())[0]).toBe(identity)
    await printedAfter(() => save(serve, good), /identity restarted/)
    expect((await readPids())[0]).not.toBe(identity)
  })

  it('reports a service that does not start, and starts it after the next save', async () => {
    const good = readSource(serve)
    const printed = await printedAfter(() => save(serve, `import { nothing } from 'node:path'\n${good}`), /SyntaxError/)
    expect(printed).toContain('identity ended (exit code 1) and starts again when a source is saved')
    expect(printed).toContain(serve)
    await printedAfter(() => save(serve, good), /identity restarted/)
  })

  it('stops the services and PostgreSQL on SIGINT', async () => {
    const before = await readPids()
    const file = join(folder, 'state/postgres/cluster/postmaster.pid')
    const database = Number.parseInt(readFileSync(file, 'utf8'), 10)
    run.child.kill('SIGINT')
    expect(await run.ended).toBe(0)
    expect([...before, database].filter(isAlive)).toEqual([])
    expect(existsSync(join(folder, 'state/local.json'))).toBe(false)
  })
})
