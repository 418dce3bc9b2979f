import { parentPort, workerData } from 'node:worker_threads'
import {
  type TupleBatch,
  DelimitedProblem,
  type DetectedOptions,
  type DelimitedLimits,
  DelimitedReader,
  startScanner,
  type StoredType,
  TextFile,
  describeGuesses,
  describeOddValue,
  detectText,
} from '../delimited/delimited.ts'
import type { CsvCommand, FileReading, CsvJob, CsvMessage } from './protocol.ts'

const progressInterval = 250

if (!parentPort) throw new Error('csv-thread.ts is a worker thread, not a program')
const port = parentPort
const machine = startScanner()

interface OpenReading {
  file: TextFile
  reading: DelimitedReader
  limits: DelimitedLimits
  reportOddValues: boolean
}

/** Counts the writings of all files, so that a late chunk is not mistaken for one of the next writing. */
let writing = 0
let open: OpenReading | undefined
let pool: ChunkPool | undefined
let told = performance.now()

function post(message: CsvMessage, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer)
}

async function write(
  { file, reading, limits, reportOddValues }: OpenReading,
  types: readonly StoredType[],
): Promise<void> {
  // The consumer of an abandoned writing may keep some of its chunks.
  writing++
  pool = new ChunkPool(limits.chunksInFlight, limits.chunkBytes)
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
    if (!step.done) await send(step.value, pool)
    else if ('widened' in step.value) return post({ kind: 'widened', columns: step.value.widened })
    else {
      tell(file.size, step.value.rows)
      const oddValues = reportOddValues ? reading.findOddValues().map(describeOddValue) : []
      close()
      return post({ kind: 'done', columns: reading.columns, profiles: step.value.profiles, oddValues })
    }
  }
}

async function send({ tuples, rejected }: TupleBatch, pool: ChunkPool): Promise<void> {
  const { length } = tuples
  if (length === 0 && rejected.length === 0) return
  const memory = await pool.take(length)
  new Uint8Array(memory).set(tuples)
  post({ kind: 'chunk', memory, length, rejected, writing }, [memory])
}

function postProblem(error: unknown): void {
  if (!(error instanceof DelimitedProblem)) throw error
  const { code, message, advice, cause } = error
  post({ kind: 'problem', code, message, ...(advice !== undefined && { advice }), cause })
  port.close()
}

/** Discards the state of a file. Only the compiled code and the memory of the WebAssembly scanner remain for the next file. */
function close(): void {
  open?.file[Symbol.dispose]()
  open = undefined
  pool = undefined
}

function read({ file: path, fileName, options, limits, reportOddValues = false }: CsvJob): void {
  const file = new TextFile(path, fileName)
  const { dialect, guesses, decimalDecided, notes } = detectText(file, options)
  const reading = new DelimitedReader(file, dialect, limits, machine)
  open = { file, reading, limits, reportOddValues }
  const names = dialect.columns.map((column) => column?.name)
  const { columns } = reading
  const opened = {
    columns,
    names,
    encoding: file.encoding,
    guesses: describeGuesses(guesses),
    notes,
    reading: readingOf(guesses, decimalDecided),
    size: file.size,
  }
  post({ kind: 'opened', opened })
}

const readingOf = (
  { delimiter, quote, escape, headerRow, decimal }: DetectedOptions,
  decided: boolean,
): FileReading => ({
  delimiter: delimiter.value,
  quote: quote.value,
  escape: escape.value,
  headerRow: headerRow.value,
  ...(decided && { decimal: decimal.value }),
})

port.on('message', (command: CsvCommand | CsvJob) => {
  try {
    if (!('kind' in command)) read(command)
    else if (command.kind === 'ENCODE') write(open!, command.types).catch(postProblem)
    else if (command.writing === writing) pool?.give(command.memory)
  } catch (error) {
    postProblem(error)
  }
})
// A thread that started before its first job receives the job as a message.
if (workerData) port.emit('message', workerData)

/** Memory for a limited number of chunks. A chunk is allocated at its first use and reused after its return. */
class ChunkPool {
  readonly #chunkBytes: number
  readonly #free: ArrayBuffer[] = []
  #unmade: number
  #wake: (() => void) | undefined

  constructor(chunks: number, chunkBytes: number) {
    this.#unmade = chunks
    this.#chunkBytes = chunkBytes
  }

  /** Returns memory for at least this many bytes; waits until a chunk is available. */
  async take(bytes: number): Promise<ArrayBuffer> {
    while (this.#free.length === 0 && this.#unmade === 0) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await promise
    }
    const memory = this.#free.pop()
    if (!memory) this.#unmade--
    // A record longer than a chunk gets its own memory, in place of a chunk of the pool.
    return memory && memory.byteLength >= bytes ? memory : new ArrayBuffer(Math.max(bytes, this.#chunkBytes))
  }

  give(memory: ArrayBuffer): void {
    if (memory.byteLength === this.#chunkBytes) this.#free.push(memory)
    else this.#unmade++
    this.#wake?.()
  }
}
