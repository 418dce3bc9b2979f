import { parentPort, workerData } from 'node:worker_threads'
import { type Batch, DelimitedProblem, encode, inspect, type Tell, TextFile } from '@sluice/delimited'
import type { Command, Job, Message } from './protocol.ts'

const progressInterval = 250
/** Inspecting takes about a quarter of a load's time, so a bar drawn from the bytes moves evenly. */
const inspectionShare = 0.25

if (!parentPort) throw new Error('csv-thread.ts is a worker thread, not a program')
const port = parentPort
const { path, fileName, dialect, limits } = workerData as Job

const started = Promise.withResolvers<void>()
/** Batches that may still be sent, and who waits for one. */
const window: { credits: number; wake?: () => void } = { credits: limits.chunksInFlight }

port.on('message', (command: Command) => {
  if (command === 'ENCODE') return started.resolve()
  window.credits++
  window.wake?.()
})

function post(message: Message, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer)
}

async function send({ copyText, rejected }: Batch): Promise<void> {
  while (window.credits === 0) {
    await new Promise<void>((resolve) => {
      window.wake = resolve
    })
  }
  window.credits--
  post({ kind: 'batch', copyText, rejected }, [copyText.buffer])
}

let told = performance.now()

function teller(report: (bytes: number, rows: number) => void): Tell {
  return (bytes, rows) => {
    const now = performance.now()
    if (now - told < progressInterval) return
    told = now
    report(bytes, rows)
  }
}

try {
  using file = new TextFile(path, fileName)
  const bytesTotal = file.size
  const progress = (bytesRead: number, rowsRead: number) =>
    post({ kind: 'progress', totals: { bytesRead: Math.floor(bytesRead), bytesTotal, rowsRead } })
  const inspection = inspect(
    file,
    dialect,
    limits,
    teller((bytes) => progress(bytes * inspectionShare, 0)),
  )
  post({ kind: 'inspected', inspection, encoding: file.encoding })
  await started.promise
  const tell = teller((bytes, rows) => progress(bytesTotal * inspectionShare + bytes * (1 - inspectionShare), rows))
  const rows = await encode(file, dialect, limits, inspection, send, tell)
  progress(bytesTotal, rows)
  post({ kind: 'done' })
} catch (error) {
  if (!(error instanceof DelimitedProblem)) throw error
  post({ kind: 'problem', code: error.code, message: error.message, cause: error.cause })
} finally {
  port.close()
}
