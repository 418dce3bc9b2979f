import { expect, it } from '@jest/globals'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { somewhere } from './raw-tcp-servers.ts'

it('reuses the compiled modules of a reader thread in the next process if NODE_COMPILE_CACHE is set', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-compiled-'))
  const source = new URL('../database-source.ts', import.meta.url).href
  const program = `const { testDatabaseConnection } = await import(${JSON.stringify(source)})
    const here = async () => [{ address: '127.0.0.1', family: 4 }]
    const problem = await testDatabaseConnection(${JSON.stringify(somewhere)}, here, new AbortController().signal).catch(({ code }) => code)
    console.log(problem)`
  await writeFile(join(folder, 'try.mjs'), program)
  const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, 'compiled'), NODE_DEBUG_NATIVE: 'COMPILE_CACHE' }
  const once = async () => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [join(folder, 'try.mjs')], { env })
    // Only the thread loads a session; Node says of each module whether it found it compiled.
    const session = stderr
      .split('\n')
      .filter((line) => line.includes('reading cache') && line.includes('postgres-session'))
    return {
      problem: stdout.trim(),
      looked: session.length > 0,
      found: session.some((line) => line.includes('success')),
    }
  }
  try {
    expect(await once()).toEqual({ problem: 'CONNECTION_REFUSED', looked: true, found: false })
    expect(await once()).toEqual({ problem: 'CONNECTION_REFUSED', looked: true, found: true })
  } finally {
    await rm(folder, { recursive: true })
  }
})
