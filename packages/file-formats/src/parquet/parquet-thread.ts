import { parentPort, workerData } from 'node:worker_threads'
import { SourceProblem, type StoredType } from '@sluice/row-stream'
import { ChunkPool } from './chunk-pool.ts'
import { FileWarning } from './file-problems.ts'
import { ParquetFile, asHex, assertPlausible } from './footer.ts'
import type { ParquetCommand, ParquetJob, ParquetMessage } from './protocol.ts'
import { HoldsBytes } from './row-groups.ts'
import { readSchema } from './schema.ts'
import { encodeRows } from './encode-rows.ts'

if (!parentPort) throw new Error('parquet-thread.ts is a worker thread, not a program')
const port = parentPort
const { path, fileName, limits } = workerData as ParquetJob

/** Resolves the wait for the command to read all rows. */
let ordered: ((types: readonly StoredType[]) => void) | undefined
let written = 0
let mostWritten = Infinity
const pool = new ChunkPool(limits, (memory, length) => {
  written += length
  if (written > mostWritten)
    throw new FileWarning(
      'FILE_TOO_DENSE',
      `comes to more than ${limits.ratio} times its size. It may be built to do harm.`,
    )
  post({ kind: 'chunk', memory, length }, [memory])
})

port.on('message', (command: ParquetCommand) => {
  if (command.kind === 'encode') ordered?.(command.types)
  else if (command.kind === 'more') pool.allowOne()
  else pool.giveBack(command.memory)
})

function post(message: ParquetMessage, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer)
}

const order = () =>
  new Promise<readonly StoredType[]>((resolve) => {
    ordered = resolve
  })

async function read(): Promise<void> {
  using file = new ParquetFile(path, fileName, limits)
  const { metadata, size } = file
  mostWritten = Math.max(limits.writtenFrom, size * limits.ratio)
  let columns = readSchema(metadata)
  const rows = assertPlausible(file, limits)
  let types = order()
  post({
    kind: 'inspected',
    columns: columns.map(({ column }) => column),
    size,
    rows,
    rowGroups: metadata.row_groups.length,
    codecs: [
      ...new Set(metadata.row_groups.flatMap((group) => group.columns.map((chunk) => chunk.meta_data?.codec ?? '?'))),
    ],
    writer: metadata.created_by ?? 'an unknown writer',
  })
  for (;;) {
    const stored = await types
    try {
      const done = await encodeRows(file, columns, stored, limits, pool, post)
      file.assertUnchanged()
      post(done)
      return
    } catch (error) {
      if (!(error instanceof HoldsBytes)) throw error
      types = order()
      pool.startOver()
      written = 0
      post({ kind: 'widened', label: columns[error.column]!.column.label })
      columns = columns.map((column, index) => (index === error.column ? asHex(column) : column))
    }
  }
}

try {
  await read()
} catch (error) {
  const problem = error instanceof FileWarning ? error.problem(fileName) : error
  if (!(problem instanceof SourceProblem)) throw error
  post({ kind: 'problem', code: problem.code, message: problem.message, cause: problem.cause })
} finally {
  port.close()
}
