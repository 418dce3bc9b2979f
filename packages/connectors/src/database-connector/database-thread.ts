import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { identifiers, type Column, SourceProblem } from '@sluice/row-stream'
import { databaseProblem, explainError, redactError } from './problems.ts'
import type { DatabaseCommand, DatabaseJob, DatabaseMessage } from './thread-protocol.ts'
import { type DatabaseSession, loadEngine } from './session.ts'
import { TupleSink } from './tuple-sink.ts'
import type { DatabaseLimits } from './database-config.ts'

if (!parentPort) throw new Error('database-thread.ts must be started as a worker thread')

/** The state that decides which timeout applies: none while the consumer is slow, and a longer one before the first row. */
type WatchedSink = Pick<TupleSink, 'waiting' | 'rows'>

/** The state before rows are read. It uses the timeout for later rows, because a locked table can block the description of its columns. */
const beforeRows: WatchedSink = { waiting: false, rows: 1 }

const port = parentPort
const { config, addresses, statements, limits } = workerData as DatabaseJob
// A thread talks to one database, so it loads only this driver.
const engine = await loadEngine(config.kind)

const commands: DatabaseCommand[] = []
let sink: TupleSink | undefined
let wake: (() => void) | undefined
let signedIn = false
let opened: DatabaseSession | undefined
let ending = false

port.on('message', (command: DatabaseCommand) => {
  if (command.kind === 'more') return sink?.more()
  if (command.kind === 'reuse') return sink?.reuse(command.memory)
  if (command.kind === 'cancel') return void cancelAndExit()
  commands.push(command)
  wake?.()
})

/** Cancels the query, which the database would otherwise continue after its connection closed, and ends the thread. */
async function cancelAndExit(): Promise<void> {
  await cancelQuery()
  process.exit()
}

/** Asks the database to cancel the query, and waits at most a second for it, so that the thread can end in any case. */
async function cancelQuery(): Promise<void> {
  const late = new AbortController()
  const limit = sleep(1_000, undefined, { signal: late.signal }).catch(() => {})
  await Promise.race([opened?.cancel().catch(() => {}), limit])
  late.abort()
}

async function nextCommand(): Promise<DatabaseCommand> {
  for (;;) {
    const command = commands.shift()
    if (command) return command
    await new Promise<void>((resolve) => {
      wake = resolve
    })
  }
}

/** Sends a message unless the thread is ending. After a cancellation, a query can look complete although rows are missing. */
function post(message: DatabaseMessage, transfer: ArrayBuffer[] = []): void {
  if (!ending) port.postMessage(message, transfer)
}

async function readAll(session: DatabaseSession): Promise<void> {
  post({ kind: 'connected', notes: session.notes })
  let before = 0
  for (const statement of statements) {
    const described = await watched(session, beforeRows, () => session.describe(statement))
    const names = identifiers(described.columns.map(({ label }) => label))
    const columns = described.columns.map((column, index): Column => ({ name: names[index]!, ...column }))
    post({ kind: 'described', columns, notes: described.notes, bytes: described.bytes })
    const command = await nextCommand()
    if (command.kind !== 'rows') continue
    const rowsBefore = before
    sink = new TupleSink(limits, session.received, ({ tuples, rejected, totals: { bytesRead, rowsRead } }) =>
      post({ kind: 'batch', tuples, rejected, totals: { bytesRead, rowsRead: rowsBefore + rowsRead } }, [
        tuples.buffer,
      ]),
    )
    const notes = await watched(session, sink, () => session.read(command.types, sink!))
    sink.flush()
    before += sink.rows
    post({ kind: 'done', notes })
    await nextCommand()
  }
  post({ kind: 'finished' })
}

/** Opens a session. The silence timeout also applies while the connection is being set up. */
function open(): Promise<DatabaseSession> {
  const opened: Socket[] = []
  const received = () => opened.reduce((sum, { bytesRead }) => sum + bytesRead, 0)
  return watched({ received }, beforeRows, () => engine.open({ config, addresses, limits, opened }))
}

/** Runs an operation. Ends the thread with the problem SOURCE_SILENT if the database sends no data for too long. */
async function watched<T>(
  session: Pick<DatabaseSession, 'received'>,
  what: Parameters<typeof watchForSilence>[1],
  act: () => Promise<T>,
): Promise<T> {
  using _watching = watchForSilence(
    session,
    what,
    limits,
    () => void end(databaseProblem({ code: 'SOURCE_SILENT' }, config, engine.name), { cancels: true }),
  )
  return await act()
}

/**
 * Reports a problem and ends the thread, after cancelling the query if `cancels` is set. Only the first problem is reported,
 * because later ones are its consequences.
 */
async function end(problem: SourceProblem, { cancels }: { cancels: boolean }): Promise<void> {
  if (ending) return
  ending = true
  if (cancels) await cancelQuery()
  const { code, message, cause } = problem
  port.postMessage({ kind: 'problem', code, message, cause } satisfies DatabaseMessage)
  port.close()
  // The process exits after a second, because the driver may wait for a response that never arrives.
  setTimeout(() => process.exit(), 1_000).unref()
}

try {
  await using session = await open()
  opened = session
  signedIn = true
  await readAll(session)
  if (!ending) port.close()
} catch (error) {
  if (!ending) {
    const problem = explainError(error, config, engine, signedIn)
    // An error without a known problem is a bug. It ends the thread, and the main thread logs it.
    if (!problem) throw redactError(error, config)
    // After an error of the driver, the query has ended. After any other problem, the query may still run, so it is cancelled.
    await end(problem, { cancels: error instanceof SourceProblem })
  }
}

/** Calls `silent` once if the database sends no data for too long. Time during which the consumer is slow does not count. */
function watchForSilence(
  session: Pick<DatabaseSession, 'received'>,
  sink: WatchedSink,
  limits: DatabaseLimits,
  silent: () => void,
): Disposable {
  let seen = session.received()
  let since = performance.now()
  const timer = setInterval(
    () => {
      const now = session.received()
      const limit = sink.rows === 0 ? limits.firstRow : limits.silence
      if (now !== seen || sink.waiting) {
        seen = now
        since = performance.now()
      } else if (performance.now() - since > limit) {
        clearInterval(timer)
        silent()
      }
    },
    Math.max(10, Math.min(1_000, limits.silence / 10)),
  )
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
