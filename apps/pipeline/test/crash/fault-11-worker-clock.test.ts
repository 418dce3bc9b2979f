import { existsSync, readdirSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { isLongRun } from '@sluice/testing/long-test-runs'
import { describeUnless } from '@sluice/testing/skip-tests'
import { finished, stagingTables } from '../worker/large-load.ts'
import { startStack, type Stack } from '../worker/worker-stack.ts'
import { until } from '@sluice/testing/wait-until'
import { ask, loadedPipelines, numbered, seen, takenBy, trapped } from './pipelines-with-data.ts'

/** Debian's libfaketime. Undefined where it is not installed. */
const library = readdirSync('/usr/lib')
  .map((folder) => `/usr/lib/${folder}/faketime/libfaketime.so.1`)
  .find((path) => existsSync(path))

const missing = library ? undefined : 'no libfaketime here: apt-get install libfaketime'
describeUnless(missing)('worker with a wrong system clock', () => {
  let stack: Stack
  let folder: string
  beforeAll(async () => {
    stack = await startStack({ heartbeatSeconds: 10 })
    folder = await mkdtemp(join(tmpdir(), 'sluice-clock-'))
  })
  afterAll(async () => {
    await rm(folder, { recursive: true })
    await stack?.[Symbol.asyncDispose]()
  })

  const forward = ['forward', '+2h', '+4h'] as const
  const back = ['back', '-2h', '-4h'] as const
  it.each(isLongRun ? [forward, back] : [back])(
    'publishes each run exactly once when the clock jumps two hours %s during a load',
    async (_, first, then) => {
      const [scene] = await loadedPipelines(stack, 1)
      const clock = join(folder, `clock${first}`)
      await writeFile(clock, first)
      const faked = {
        LD_PRELOAD: library!,
        FAKETIME_TIMESTAMP_FILE: clock,
        FAKETIME_NO_CACHE: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      }
      await using wrong = await trapped(stack, 'in-copy:sleep:700', faked)
      const run = await ask(stack, scene!.pipeline, numbered(2))
      await until(async () => (await seen(stack, scene!, run)).staging === 1)
      const said = new Date(/"time":"([^"]+)"/.exec(wrong.output())![1]!)
      expect(Math.abs(said.getTime() - Date.now())).toBeGreaterThan(3_600_000)
      await using _right = await trapped(stack, 'in-copy:sleep:100')
      await writeFile(clock, then)
      await finished(stack, run)
      expect(takenBy(wrong)).toEqual([run.uid])
      await until(async () => (await seen(stack, scene!, run)).jobs === 0)
      await until(async () => (await stagingTables(scene!.client, run)) === 0)
      expect(await seen(stack, scene!, run)).toMatchObject({ state: 'OK', attempt: 1, holds: [2], publications: 1 })
      const later = await ask(stack, scene!.pipeline, numbered(3))
      await finished(stack, later)
      expect(await seen(stack, scene!, later)).toMatchObject({ state: 'OK', attempt: 1, holds: [3], publications: 1 })
      await scene!.client.end()
    },
  )
})
