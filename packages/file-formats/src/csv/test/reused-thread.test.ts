import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { afterAll, describe, expect, it } from '@jest/globals'
import { itUnless } from '@sluice/testing/skip-tests'
import { until } from '@sluice/testing/wait-until'
import { defaultDelimitedLimits } from '../../delimited/limits.ts'
import { suspendSpareThreads } from '@sluice/row-stream'
import { keepReaderThread } from '../../start-reader-thread.ts'
import { recordThreads } from '@sluice/testing/record-created-threads'
import { readCsv } from '../csv-source.ts'
import { chunksOf, inputFolder, readThroughThread } from './read-whole-file.ts'

const folder = inputFolder()
afterAll(() => folder[Symbol.dispose]())

const many = Array.from({ length: 200_000 }, (_, row) => `${row},name ${row}\n`).join('')

/** What a thread of its own makes of these, before any is kept. */
const files = {
  semicolons: {
    text: 'n;amount;day\n1;1,5;2024-01-31\nNA;2,25;\n',
    options: { decimal: 'COMMA', nullValues: ['NA', ''] },
  },
  commas: { text: 'n,amount,NA\n1,1.5,NA\n2,3.25,x\n', options: {} },
  narrow: { text: 'a\ntrue\nfalse\n', options: {} },
} as const
const names = Object.keys(files) as (keyof typeof files)[]

const never = new AbortController().signal
const nobody = { progress() {}, reject() {}, rejectMore() {}, async startOver() {}, log() {} }

async function read(name: keyof typeof files) {
  const { text, options } = files[name]
  const { progress: _progress, ...read } = await readThroughThread({ path: folder.write(text), ...options })
  return read
}

/** Returns the next thread id; ids count the threads created so far. */
async function nextThreadId(): Promise<number> {
  const thread = new Worker('', { eval: true })
  const { threadId } = thread
  await thread.terminate()
  return threadId
}

describe('a reader thread that is kept for the next file', () => {
  it('reads every file with the same result as a new thread, and is reused', async () => {
    const alone = new Map<string, unknown>()
    for (const name of names) alone.set(name, await read(name))
    const before = await nextThreadId()
    using _kept = keepReaderThread('csv')
    for (const name of [...names, ...names.toReversed(), ...names]) expect(await read(name)).toEqual(alone.get(name))
    expect((await nextThreadId()) - before).toBe(2)
  })

  it('is not kept while a read that needs much memory is running, and is kept again afterwards', async () => {
    using recorded = recordThreads('csv')
    using _kept = keepReaderThread('csv')
    await read('commas')
    const reading = Promise.withResolvers<void>()
    const before = await nextThreadId()
    suspendSpareThreads(reading.promise)
    await read('semicolons')
    expect((await nextThreadId()) - before).toBe(2)
    reading.resolve()
    // The second thread may still be ending, so the number of running threads alone does not show that the third started.
    await until(() => recorded.countCreated() === 3 && recorded.countRunning() === 1, { within: 30_000 })
    expect((await nextThreadId()) - before).toBe(4)
    await read('semicolons')
    expect((await nextThreadId()) - before).toBe(5)
  })

  itUnless(existsSync('/proc/self/fd') ? undefined : 'needs /proc')(
    'does not keep a file open after reading it',
    async () => {
      using _kept = keepReaderThread('csv')
      const path = folder.write('a,b\n1,2\n')
      await readThroughThread({ path })
      const open = readdirSync('/proc/self/fd').map((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`)
        } catch {
          return ''
        }
      })
      expect(open).not.toContain(path)
    },
  )

  it('reads the next file after an aborted read', async () => {
    using _kept = keepReaderThread('csv')
    const path = folder.write(`n,name\n${many}`)
    const given = new AbortController()
    const reading = (async () => {
      for await (const rowStream of readCsv({ path, fileName: 'x.csv' }, nobody, given.signal, defaultDelimitedLimits))
        for await (const _chunk of chunksOf(rowStream)) given.abort(new Error('Given up'))
    })()
    await expect(reading).rejects.toThrow('Given up')
    expect((await readThroughThread({ path })).rows).toHaveLength(200_000)
  })

  it('is not started twice after a failed read if the next read takes long', async () => {
    using _kept = keepReaderThread('csv')
    await expect(readThroughThread({ path: folder.write('') })).rejects.toThrow('is empty')
    const before = await nextThreadId()
    for await (const rowStream of readCsv(
      { path: folder.write('a\n1\n'), fileName: 'x.csv' },
      nobody,
      never,
      defaultDelimitedLimits,
    ))
      for await (const _chunk of chunksOf(rowStream)) await sleep(1_500)
    // The thread that reads the file, and the one that `nextThreadId` starts.
    expect((await nextThreadId()) - before).toBeLessThanOrEqual(2)
  })

  it('ends when its only holder is disposed of', async () => {
    using recorded = recordThreads('csv')
    const kept = keepReaderThread('csv')
    await read('commas')
    expect([recorded.countCreated(), recorded.countRunning()]).toEqual([1, 1])
    kept[Symbol.dispose]()
    await until(() => recorded.countRunning() === 0, { within: 30_000 })
    await read('commas')
    expect(recorded.countCreated()).toBe(2)
  })

  it('reports an unreadable file, and reads the next one', async () => {
    using _kept = keepReaderThread('csv')
    await expect(readThroughThread({ path: folder.write('') })).rejects.toThrow('is empty')
    expect((await readThroughThread({ path: folder.write('a\n1\n') })).rows).toHaveLength(1)
  })
})
