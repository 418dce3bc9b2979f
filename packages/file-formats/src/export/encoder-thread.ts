import { parentPort, workerData } from 'node:worker_threads'
import { once } from 'node:events'
import { CsvCells } from './csv-cells.ts'
import {
  type CellText,
  type EncodedFormat,
  type EncoderCommand,
  type EncoderJob,
  type EncoderMessage,
  type FileEncoder,
  UnencodableValueError,
} from './exported-column.ts'

if (!parentPort) throw new Error('encoder-thread.ts is a worker thread, not a program')
const mainThreadPort = parentPort
const { format, columns, batchBytes } = workerData as EncoderJob

const send = (message: EncoderMessage, transfer: ArrayBuffer[] = []): void =>
  mainThreadPort.postMessage(message, transfer)

/** Sends a copy of the bytes to the main thread. The memory of the copy is moved to that thread, not copied again. */
function sendBytes(bytes: Uint8Array): void {
  if (bytes.length === 0) return
  const memory = new Uint8Array(bytes).buffer
  send({ kind: 'bytes', memory }, [memory])
}

/** Imports the encoder for the job's format, and only the libraries of that format. */
async function openEncoder(): Promise<{
  write(cells: CellText[][]): Promise<void>
  end(): Promise<void>
}> {
  if (format === 'XLSX') {
    const { WorkbookWriter } = await import('./xlsx-encoder.ts')
    const workbook = new WorkbookWriter(columns)
    workbook.output.on('data', (chunk: Buffer) => sendBytes(chunk))
    const workbookEnded = once(workbook.output, 'end')
    return {
      write: (cells) => workbook.write(cells),
      async end() {
        await workbook.end()
        await workbookEnded
      },
    }
  }
  const encoder = await openSimpleEncoder(format)
  return {
    write: async (cells) => encoder.write(cells).forEach(sendBytes),
    end: async () => encoder.end().forEach(sendBytes),
  }
}

/** Imports the encoder of a format other than XLSX. It returns the bytes of the file. */
async function openSimpleEncoder(format: Exclude<EncodedFormat, 'XLSX'>): Promise<FileEncoder> {
  switch (format) {
    case 'PARQUET':
      return (await import('./parquet-encoder.ts')).parquetEncoder(columns)
    case 'ARROW':
      return (await import('./arrow-encoder.ts')).arrowEncoder(columns)
    case 'SOURCE_FORMAT_CSV':
      return (await import('./values-in-source-format.ts')).sourceFormatCsvEncoder(columns)
  }
}

const maxBatchRows = 65_536
const cells = new CsvCells(columns.length)
let encoder: Awaited<ReturnType<typeof openEncoder>> | undefined
let bytesInBatch = 0

/** Encodes the complete rows as one batch, and starts a new batch. */
async function writeBatch(): Promise<void> {
  bytesInBatch = 0
  if (cells.rows > 0) await encoder!.write(cells.take())
}

/**
 * Handles a command. Adds rows to the batch, writes each full batch, and sends `ready`. At the end, writes the last
 * batch and the end of the file, and sends `end`.
 */
async function handleCommand(command: EncoderCommand): Promise<void> {
  encoder ??= await openEncoder()
  if (command.kind === 'end') {
    await writeBatch()
    await encoder.end()
    send({ kind: 'end' })
    return
  }
  const chunk = Buffer.from(command.bytes.buffer, command.bytes.byteOffset, command.bytes.byteLength)
  let position = 0
  while (position < chunk.length) {
    const hasEnoughBytes = bytesInBatch >= batchBytes
    // A batch contains only whole rows, so the rest of the current row is still added.
    const maxRows = hasEnoughBytes ? cells.rows + 1 : maxBatchRows
    const end = cells.read(chunk, position, maxRows)
    bytesInBatch += end - position
    position = end
    const isBatchFull = cells.rows >= maxBatchRows || (hasEnoughBytes && cells.isAtRowStart)
    if (isBatchFull) await writeBatch()
  }
  send({ kind: 'ready' })
}

let pendingWork = Promise.resolve()
mainThreadPort.on('message', (command: EncoderCommand) => {
  pendingWork = pendingWork
    .then(() => handleCommand(command))
    .catch((error: unknown) => {
      // Any other error ends the thread, and the main thread reports it.
      if (!(error instanceof UnencodableValueError)) throw error
      send({ kind: 'problem', message: error.message })
      mainThreadPort.close()
    })
})
