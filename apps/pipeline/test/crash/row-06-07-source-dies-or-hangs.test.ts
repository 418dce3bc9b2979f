import { truncate } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { uploadPath } from '../../src/files/upload-path.ts'
import { finished } from '../engine/large-load.ts'
import { startStack, type Stack } from '../engine/stack.ts'
import { until } from '../engine/worker-process.ts'
import { ask, type Loaded, loadedPipelines, numbered, seen, sprung, trapped } from './scene.ts'

let stack: Stack
let scenes: Loaded[]
beforeAll(async () => {
  stack = await startStack()
  scenes = await loadedPipelines(stack, 2)
})
afterAll(async () => {
  for (const { client } of scenes ?? []) await client.end()
  await stack?.[Symbol.asyncDispose]()
})

const untouched = { state: 'FAILED', holds: [1], rows: 2, publications: 0, staging: 0, jobs: 0 }

describe('a source', () => {
  it('that ends in the middle of what it had announced fails the run, and the table stays as it was', async () => {
    const scene = scenes[0]!
    await using worker = await trapped(stack, 'staging-made:stop')
    const run = await ask(stack, scene.pipeline, numbered(2, 1_000_000))
    await sprung(worker, 'staging-made')
    const { file } = run.input as { file: { uid: string } }
    await truncate(uploadPath(stack.filesDirectory, file.uid), 5_000_003)
    worker.signal('SIGCONT')
    await finished(stack, run)
    await until(async () => (await seen(stack, scene, run)).jobs === 0)
    expect(await seen(stack, scene, run)).toMatchObject(untouched)
    expect((await stack.state(run)).message).toMatch(/old data stays|again/)
  })

  it('that hangs is given up after a while, with the reason', async () => {
    const scene = scenes[1]!
    await using worker = await trapped(stack, 'in-copy:sleep:0,reading:hang@2', { SOURCE_SILENCE_SECONDS: '5' })
    const run = await ask(stack, scene.pipeline, numbered(2))
    await sprung(worker, 'reading')
    const began = Date.now()
    await finished(stack, run)
    expect(Date.now() - began).toBeLessThan(10_000)
    await until(async () => (await seen(stack, scene, run)).jobs === 0)
    expect(await seen(stack, scene, run)).toMatchObject({ ...untouched, error_code: 'SOURCE_SILENT' })
    // And the worker takes runs as before.
    const next = await ask(stack, scene.pipeline, numbered(3, 3))
    expect(await finished(stack, next)).toMatchObject({ state: 'OK', rows_written: 3 })
  })
})
