import { once } from 'node:events'
import { parentPort, workerData } from 'node:worker_threads'
import {
  type Batch,
  DelimitedProblem,
  describeGuesses,
  detectText,
  type Limits,
  Reading,
  startMachine,
  type StoredType,
  TextFile,
} from '@sluice/delimited'
import { ChunkPool } from './chunk-pool.ts'
import type { Command, Job, Message } from './protocol.ts'

const progressInterval = 250

if (!parentPort) throw new Error('csv-thread.ts is a worker thread, not a program')
const port = parentPort
const machine = startMachine()
// A thread that was started before there was anything to read gets its job as its first message.
const {
  file: path,
  fileName,
  options,
  limits,
} = (workerData as Job | null) ?? ((await once(port, 'message')) as [Job])[0]

let writing = 0
let pool = newPool(limits)
let told = performance.now()

function newPool({ chunksInFlight, chunkBytes }: Limits): ChunkPool {
  return new ChunkPool(chunksInFlight, chunkBytes)
}

function post(message: Message, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer)
}

async function write(file: TextFile, reading: Reading, types: readonly StoredType[]): Promise<void> {
  // Whoever gave up the last writing may keep some of its chunks.
  writing++
  pool = newPool(limits)
  const tell = (bytesRead: number, rowsRead: number) =>
    post({ kind: 'progress', totals: { bytesRead, bytesTotal: file.size, rowsRead } })
  const rows = reading.encode(types, (bytes, count) => {
    const now = performance.now()
    if (now - told < progressInterval) return
    told = now
    tell(bytes, count)
  })
  for (;;) {
    const step = rows.next()
    if (!step.done) await send(step.value)
    else if ('widened' in step.value) return post({ kind: 'widened', columns: step.value.widened })
    else {
      tell(file.size, step.value.rows)
      return post({ kind: 'done', profiles: step.value.profiles })
    }
  }
}

async function send({ tuples, rejected }: Batch): Promise<void> {
  const { length } = tuples
  if (length === 0 && rejected.length === 0) return
  const memory = await pool.take(length)
  new Uint8Array(memory).set(tuples)
  post({ kind: 'chunk', memory, length, rejected, writing }, [memory])
}

function tellProblem(error: unknown): void {
  if (!(error instanceof DelimitedProblem)) throw error
  post({ kind: 'problem', code: error.code, message: error.message, cause: error.cause })
  port.close()
}

try {
  const file = new TextFile(path, fileName)
  const { dialect, guesses, notes } = detectText(file, options)
  const reading = new Reading(file, dialect, limits, machine)
  port.on('message', (command: Command) => {
    if (command.kind === 'ENCODE') write(file, reading, command.types).catch(tellProblem)
    else if (command.writing === writing) pool.give(command.memory)
  })
  const names = dialect.columns.map((column) => column?.name)
  const { columns } = reading
  const opened = { columns, names, encoding: file.encoding, guesses: describeGuesses(guesses), notes, size: file.size }
  post({ kind: 'opened', opened })
} catch (error) {
  tellProblem(error)
}
