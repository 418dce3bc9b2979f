import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { isAlive } from '../postgres/clear-stale-server.ts'
import { startTestRun } from './test-run.ts'

interface AbandonedResources {
  pids: number[]
  /** The port of its PostgreSQL. */
  port: number
  /** The mount point. Absent if this user cannot mount. */
  disk?: string
}

let parent: string
const runners: ChildProcess[] = []
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'sluice-runs-'))
  // As root, PostgreSQL runs as another user.
  await chmod(parent, 0o711)
})
afterAll(async () => {
  for (const runner of runners) runner.kill('SIGKILL')
  await rm(parent, { recursive: true })
})

async function startRunner(): Promise<{ runner: ChildProcess; left: AbandonedResources }> {
  const program = join(import.meta.dirname, 'abandoned-test-run.ts')
  const env = { ...process.env, NODE_OPTIONS: '' }
  const runner = spawn(process.execPath, [program, 'runner', parent], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  runners.push(runner)
  const failed = once(runner, 'exit').then(([code]) => Promise.reject(new Error(`The runner ended with ${code}.`)))
  failed.catch(() => {})
  const [line] = await Promise.race([once(runner.stdout!.setEncoding('utf8'), 'data'), failed])
  return { runner, left: JSON.parse(line) as AbandonedResources }
}

async function kill(runner: ChildProcess): Promise<void> {
  runner.kill('SIGKILL')
  await once(runner, 'exit')
}

const isListening = async (port: number): Promise<boolean> => {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

const isMounted = (path: string): boolean => readFileSync('/proc/self/mounts', 'utf8').includes(` ${path} `)

const onLinux = process.platform === 'linux' ? describe : describe.skip
onLinux('a test run', () => {
  it('removes the processes, mounts and files of a killed run, but nothing of a run that is still active', async () => {
    const { runner, left } = await startRunner()
    const other = await startRunner()
    await kill(runner)
    expect(left.pids.map(isAlive)).toEqual([true, true])
    expect(await isListening(left.port)).toBe(true)
    if (left.disk) expect(isMounted(left.disk)).toBe(true)

    {
      await using run = await startTestRun(parent)
      expect(left.pids.map(isAlive)).toEqual([false, false])
      expect(await isListening(left.port)).toBe(false)
      if (left.disk) expect(isMounted(left.disk)).toBe(false)
      const folders = [`sluice-test-run-${other.runner.pid}`, `sluice-test-run-${process.pid}`]
      expect((await readdir(parent)).toSorted()).toEqual(folders.toSorted())
      expect(run.environment.TMPDIR).toBe(run.folder)
      expect(other.left.pids.map(isAlive)).toEqual([true, true])
      expect(await isListening(other.left.port)).toBe(true)
    }
    await kill(other.runner)
    await using _last = await startTestRun(parent)
    expect(other.left.pids.map(isAlive)).toEqual([false, false])
  })

  it('kills its remaining processes and removes its folder when it ends', async () => {
    const run = await startTestRun(parent)
    const env = { ...process.env, ...run.environment }
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1_000)'], { env, stdio: 'ignore' })
    const ended = once(child, 'exit')
    await once(child, 'spawn')
    await run[Symbol.asyncDispose]()
    expect((await ended)[1]).toBe('SIGKILL')
    expect(existsSync(run.folder)).toBe(false)
  })
})
