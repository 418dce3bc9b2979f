import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { createProblemMessage, SourceProblem, type StoredType } from '@sluice/row-stream'
import { createDatabaseProblem, findDatabaseProblem, redactError } from './database-problems.ts'
import type { DatabaseCommand, DatabaseJob, DatabaseMessage } from './database-thread-protocol.ts'
import { type DatabaseSession, loadEngine } from './database-session.ts'
import { type TupleBatch, TupleSink } from './tuple-sink.ts'
import type { DatabaseLimits } from './database-config.ts'
import { createReadError, type PlannedStatement, planStatements } from './plan-statements.ts'

if (!parentPort) throw new Error('database-thread.ts is a worker thread, not a program')

/**
 * The state that determines which silence timeout applies: none while the consumer is slow, and a longer one before the
 * first row.
 */
type WatchedSink = Pick<TupleSink, 'isFull' | 'rows'>

/**
 * The state before rows are read. The timeout for later rows already applies, because describing the columns of a
 * locked table can block.
 */
const stateBeforeRows: WatchedSink = { isFull: false, rows: 1 }

/**
 * The state after the query was sent and before its first row. The timeout is long, because the database may scan the
 * whole table first.
 */
const stateBeforeFirstRow: WatchedSink = { isFull: false, rows: 0 }

const mainThreadPort = parentPort
const { config, addresses, statements, limits } = workerData as DatabaseJob
// A thread connects to one database, so it loads only that database's driver.
const databaseEngine = await loadEngine(config.kind)

const pendingCommands: DatabaseCommand[] = []
const recycledMemory: ArrayBuffer[] = []
/** The sink for the rows that are being read. It receives the credits and the memory of the main thread. */
let activeSink: TupleSink | undefined
let onCommand: (() => void) | undefined
let isSignedIn = false
let currentSession: DatabaseSession | undefined
let isEnding = false

mainThreadPort.on('message', (command: DatabaseCommand) => {
  if (command.kind === 'more') return activeSink?.addCredit()
  if (command.kind === 'reuse') return activeSink?.recycleMemory(command.memory)
  if (command.kind === 'cancel') return void cancelAndExit()
  pendingCommands.push(command)
  onCommand?.()
})

/**
 * Cancels the query and ends the thread. The database would otherwise continue the query after the connection closed.
 */
async function cancelAndExit(): Promise<void> {
  await cancelQuery()
  process.exit()
}

/** Requests the database to cancel the query. Waits at most one second, so that the thread ends in any case. */
async function cancelQuery(): Promise<void> {
  const timeoutController = new AbortController()
  const timeout = sleep(1_000, undefined, { signal: timeoutController.signal }).catch(() => {})
  await Promise.race([currentSession?.cancel().catch(() => {}), timeout])
  timeoutController.abort()
}

async function receiveCommand(): Promise<DatabaseCommand> {
  for (;;) {
    const command = pendingCommands.shift()
    if (command) return command
    await new Promise<void>((resolve) => {
      onCommand = resolve
    })
  }
}

/**
 * Sends a message to the main thread, unless this thread is ending. After a cancellation, a query can look complete
 * although rows are missing.
 */
function sendMessage(message: DatabaseMessage, transfer: ArrayBuffer[] = []): void {
  if (!isEnding) mainThreadPort.postMessage(message, transfer)
}

/** Describes all statements, and then sends the rows of each statement that the main thread requests. */
async function readStatements(session: DatabaseSession): Promise<void> {
  sendMessage({ kind: 'connected', notes: session.notes })
  const onUnreadable = (message: string) => sendMessage({ kind: 'unreadable', message })
  const context = { session, config, engine: databaseEngine, runWithTimeout: runDescription, onUnreadable }
  const plannedStatements = await planStatements(context, statements)
  for (const { description } of plannedStatements) sendMessage({ kind: 'described', ...description })
  let totalRows = 0
  for await (const { statement: index, types } of receiveRowRequests()) {
    const planned = plannedStatements[index]!
    try {
      totalRows += await sendStatementRows(session, planned, types, totalRows)
    } catch (error) {
      throw createReadError(context, planned.statement, statements.length, error)
    }
  }
  sendMessage({ kind: 'finished' })
}

/** Yields the requests to read the rows of a statement, until the main thread ends the read. */
async function* receiveRowRequests(): AsyncGenerator<Extract<DatabaseCommand, { kind: 'rows' }>, void, void> {
  for (;;) {
    const command = await receiveCommand()
    if (command.kind === 'end') return
    if (command.kind === 'rows') yield command
  }
}

/**
 * Reads the rows of a statement and sends them to the main thread. Returns the number of rows of this statement. The
 * totals that it sends also count the rows of earlier statements (`earlierRows`).
 */
async function sendStatementRows(
  session: DatabaseSession,
  { described, filter }: PlannedStatement,
  types: readonly StoredType[],
  earlierRows: number,
): Promise<number> {
  const sendBatch = ({ tuples, rejected, totals: { bytesRead, rowsRead } }: TupleBatch) => {
    const totals = { bytesRead, rowsRead: earlierRows + rowsRead }
    sendMessage({ kind: 'batch', tuples, rejected, totals }, [tuples.buffer])
  }
  const sink = new TupleSink(limits, session.received, sendBatch, recycledMemory)
  // The message handler passes the credits of the main thread to this sink.
  activeSink = sink
  const notes = await runWithSilenceTimeout(session, sink, () => described.read(types, sink, filter))
  sink.flush()
  sendMessage({ kind: 'done', notes, rows: sink.rows })
  return sink.rows
}

/**
 * Runs an operation that describes a statement. If it searches for the largest cursor value, it can scan all rows
 * before it returns anything, so the longer timeout applies.
 */
function runDescription<T>(
  session: DatabaseSession,
  { mayScan }: { mayScan: boolean },
  operation: () => Promise<T>,
): Promise<T> {
  return runWithSilenceTimeout(session, mayScan ? stateBeforeFirstRow : stateBeforeRows, operation)
}

/** Opens a session. The silence timeout already applies during connection and login. */
function openSession(): Promise<DatabaseSession> {
  const openedSockets: Socket[] = []
  const received = () => openedSockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0)
  return runWithSilenceTimeout({ received }, stateBeforeRows, () =>
    databaseEngine.open({ config, addresses, limits, openedSockets }),
  )
}

/** Runs an operation. If the database sends no data for too long, ends the thread with the problem SOURCE_SILENT. */
async function runWithSilenceTimeout<T>(
  session: Pick<DatabaseSession, 'received'>,
  watchedSink: WatchedSink,
  operation: () => Promise<T>,
): Promise<T> {
  const onSilence = () => {
    const problem = createDatabaseProblem({ code: 'SOURCE_SILENT' }, config, databaseEngine.name)
    void endWithProblem(problem, { cancelsQuery: true })
  }
  using _watching = watchForSilence(session, watchedSink, limits, onSilence)
  return await operation()
}

/**
 * Reports a problem and ends the thread. With `cancelsQuery`, first cancels the query. Only the first problem is
 * reported, because later ones are its consequences.
 */
async function endWithProblem(problem: SourceProblem, { cancelsQuery }: { cancelsQuery: boolean }): Promise<void> {
  if (isEnding) return
  isEnding = true
  if (cancelsQuery) await cancelQuery()
  mainThreadPort.postMessage(createProblemMessage(problem), [])
  mainThreadPort.close()
  // Exits after one second, because the driver may wait for a response that never arrives.
  setTimeout(() => process.exit(), 1_000).unref()
}

try {
  await using session = await openSession()
  currentSession = session
  isSignedIn = true
  await readStatements(session)
  if (!isEnding) mainThreadPort.close()
} catch (error) {
  if (!isEnding) {
    const problem = findDatabaseProblem(error, config, databaseEngine, isSignedIn)
    // An error that is not a known problem is a bug. It ends the thread, and the main thread logs it.
    if (!problem) throw redactError(error, config)
    // After a driver error, the query has already ended. After any other problem, the query may still run, so it is
    // cancelled.
    await endWithProblem(problem, { cancelsQuery: error instanceof SourceProblem })
  }
}

/**
 * Calls `onSilence` once if the database sends no data for `limits.firstRow` before the first row, or `limits.silence`
 * after it. Time in which the sink is full does not count, because the consumer is slow then. Disposal ends the watch.
 */
function watchForSilence(
  session: Pick<DatabaseSession, 'received'>,
  sink: WatchedSink,
  limits: DatabaseLimits,
  onSilence: () => void,
): Disposable {
  const checkIntervalMs = Math.max(10, Math.min(1_000, limits.silence / 10))
  let lastReceived = session.received()
  let silentSince = performance.now()
  const timer = setInterval(() => {
    const received = session.received()
    const isSilent = received === lastReceived && !sink.isFull
    if (!isSilent) {
      lastReceived = received
      silentSince = performance.now()
      return
    }
    const limit = sink.rows === 0 ? limits.firstRow : limits.silence
    if (performance.now() - silentSince <= limit) return
    clearInterval(timer)
    onSilence()
  }, checkIntervalMs)
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
