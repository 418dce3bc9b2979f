import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { describe, expect, it } from '@jest/globals'
import { lowerCpuPriority } from '@sluice/process'

const hasAutogroups = existsSync('/proc/self/autogroup')
const itWithAutogroups = hasAutogroups ? it : it.skip
const groupOf = (pid: number) => readFileSync(`/proc/${pid}/autogroup`, 'latin1')

/** A process that waits until it is disposed of. */
async function waiting({ detached }: { detached: boolean }) {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached, stdio: 'ignore' })
  await once(child, 'spawn')
  const [pid, ended] = [child.pid!, once(child, 'exit')]
  return {
    pid,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

describe('giving way', () => {
  it('makes a process nicer', async () => {
    await using one = await waiting({ detached: true })
    expect(getPriority(one.pid)).toBe(getPriority())
    expect(lowerCpuPriority(9, one.pid)).toBe(true)
    expect(getPriority(one.pid)).toBe(9)
  })

  itWithAutogroups('makes the session nicer that it leads, and none that it is only part of', async () => {
    await using leader = await waiting({ detached: true })
    await using part = await waiting({ detached: false })
    const before = groupOf(part.pid)
    for (const { pid } of [leader, part]) lowerCpuPriority(9, pid)
    expect(groupOf(leader.pid)).toContain('nice 9')
    expect(groupOf(part.pid)).toBe(before)
  })

  it('says so where there is nobody', async () => {
    const gone = await waiting({ detached: true })
    await gone[Symbol.asyncDispose]()
    expect(lowerCpuPriority(9, gone.pid)).toBe(false)
  })
})
