import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { getPriority } from 'node:os'
import { expect, it } from '@jest/globals'
import { applyNiceness } from './postgres-connections.ts'

const withProc = existsSync('/proc/self/cmdline') ? it : it.skip

withProc.each([
  ['applyNiceness does not change the priority of a process that is not PostgreSQL', 'sleep', 0],
  ['applyNiceness lowers the priority of a session of PostgreSQL', 'postgres: c_load data 127.0.0.1(4711) idle', 5],
])('%s', async (_what, argv0, added) => {
  const process = spawn('sleep', ['60'], { argv0 })
  try {
    await once(process, 'spawn')
    const before = getPriority(process.pid!)
    applyNiceness({ host: '127.0.0.1', niceness: before + 5 }, { processID: process.pid })
    expect(getPriority(process.pid!)).toBe(before + added)
  } finally {
    process.kill()
  }
})
