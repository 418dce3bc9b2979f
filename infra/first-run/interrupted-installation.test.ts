import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { root } from '../paths.ts'
import { showProgress } from './install.mjs'

describe('the installation', () => {
  it('starts if a package is missing, stops npm on SIGINT, and says how to finish', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-interrupted-'))
    try {
      await cp(join(root, 'infra/first-run'), join(folder, 'infra/first-run'), { recursive: true })
      // A complete installation, except for a package that an interrupted npm removed.
      const lock = '{"packages":{"node_modules/pg":{"version":"8.0.0"}}}'
      const stamp = `${createHash('sha256').update(lock).digest('hex')} ${process.platform}-${process.arch}\n`
      await writeFile(join(folder, 'package-lock.json'), lock)
      await mkdir(join(folder, 'node_modules'))
      await writeFile(join(folder, 'node_modules/.package-lock.json'), lock)
      await writeFile(join(folder, 'node_modules/.sluice-installed'), stamp)
      const npm = join(folder, 'npm')
      await writeFile(
        npm,
        `#!/bin/sh\ntrap 'touch ${folder}/stopped; exit 130' INT\ntouch ${folder}/started\nwhile :; do sleep 0.1; done\n`,
      )
      await chmod(npm, 0o755)
      const child = spawn(process.execPath, [join(folder, 'infra/first-run/run.mjs'), 'program.ts'], {
        env: { ...process.env, NODE_OPTIONS: '', PATH: [folder, process.env['PATH']].join(delimiter) },
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      let stderr = ''
      child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
      const closed = once(child, 'close')
      for (const end = Date.now() + 30_000; !existsSync(join(folder, 'started')) && Date.now() < end; ) await sleep(50)
      child.kill('SIGINT')
      expect(await closed).toEqual([130, null])
      expect(stderr).toMatch(
        /^Installing dependencies .*… \nThe installation was interrupted\. Start again to finish it\.\n$/,
      )
      expect(existsSync(join(folder, 'stopped'))).toBe(true)
      expect(existsSync(join(folder, '.sluice/installing'))).toBe(false)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})

describe('the progress of the installation', () => {
  afterEach(() => {
    jest.useRealTimers()
  })

  it.each([
    [true, '10 s… 20 s… 30 s… 40 s… 50 s… 60 s… 70 s… 80 s… 90 s… 100 s… 110 s… 120 s… '],
    [false, '\nStill installing dependencies after 1 min… \nStill installing dependencies after 2 min… '],
  ])('shows the elapsed time (isTTY: %s)', (isTTY, expected) => {
    jest.useFakeTimers()
    let written = ''
    const stop = showProgress({ isTTY, write: (text: string) => (written += text) })
    jest.advanceTimersByTime(125_000)
    stop()
    jest.advanceTimersByTime(125_000)
    expect(written).toBe(expected)
  })
})
