import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from '@jest/globals'
import { root } from '../paths.ts'

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

it('a program that npm started ends when the shell of npm is killed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-orphan-'))
  let pid = 0
  try {
    const program = join(folder, 'program.ts')
    await writeFile(program, 'console.log(`pid ${process.pid}`)\nsetInterval(() => {}, 1_000)\n')
    // Without `true`, the shell would replace itself by the program. The shell of npm does not.
    const shell = spawn('sh', ['-c', `"${process.execPath}" infra/first-run/run.mjs "${program}"; true`], {
      cwd: root,
      env: { ...process.env, npm_lifecycle_event: 'start', NODE_OPTIONS: '' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    for await (const chunk of shell.stdout.setEncoding('utf8')) if (/pid \d+\n/.test((output += chunk))) break
    pid = Number(/pid (\d+)/.exec(output)![1])
    expect(isAlive(pid)).toBe(true)
    const exited = once(shell, 'exit')
    shell.kill('SIGKILL')
    await exited
    for (const end = Date.now() + 60_000; isAlive(pid) && Date.now() < end; ) await sleep(100)
    expect(isAlive(pid)).toBe(false)
  } finally {
    if (pid && isAlive(pid)) process.kill(pid, 'SIGKILL')
    await rm(folder, { recursive: true, force: true })
  }
})
