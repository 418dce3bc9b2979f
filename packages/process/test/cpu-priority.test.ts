import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { describe, expect, it } from '@jest/globals'
import { lowerCpuPriority } from '@sluice/process'

const hasAutogroups = existsSync('/proc/self/autogroup')
const itWithAutogroups = hasAutogroups ? it : it.skip
const groupOf = (pid: number) => readFileSync(`/proc/${pid}/autogroup`, 'latin1')

/** Starts a process that runs until it is disposed of. */
async function startProcess({ detached }: { detached: boolean }) {
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

describe('lowerCpuPriority', () => {
  it('raises the nice value of a process', async () => {
    await using child = await startProcess({ detached: true })
    expect(getPriority(child.pid)).toBe(getPriority())
    expect(lowerCpuPriority(9, child.pid)).toBe(true)
    expect(getPriority(child.pid)).toBe(9)
  })

  itWithAutogroups('raises the nice value of the autogroup only for a session leader', async () => {
    await using leader = await startProcess({ detached: true })
    await using member = await startProcess({ detached: false })
    const before = groupOf(member.pid)
    for (const { pid } of [leader, member]) lowerCpuPriority(9, pid)
    expect(groupOf(leader.pid)).toContain('nice 9')
    expect(groupOf(member.pid)).toBe(before)
  })

  it('returns false if the process does not exist', async () => {
    const ended = await startProcess({ detached: true })
    await ended[Symbol.asyncDispose]()
    expect(lowerCpuPriority(9, ended.pid)).toBe(false)
  })
})
