import type { Socket } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import { identifiers } from '../../../identifiers.ts'
import type { FeedColumn, SourceProblem } from '../source.ts'
import { engines } from './engines.ts'
import { databaseProblem, explained, toldAsBug } from './problems.ts'
import type { Command, Job, Message } from './protocol.ts'
import type { Session } from './session.ts'
import { TupleSink } from './tuple-sink.ts'
import { beforeRows, watch } from './watch.ts'

if (!parentPort) throw new Error('database-thread.ts is a worker thread, not a program')
const port = parentPort
const { config, addresses, statements, limits } = workerData as Job
const engine = await engines[config.kind]()

const commands: Command[] = []
let sink: TupleSink | undefined
let wake: (() => void) | undefined
let signedIn = false
let opened: Session | undefined

port.on('message', (command: Command) => {
  if (command.kind === 'more') return sink?.more()
  if (command.kind === 'reuse') return sink?.reuse(command.memory)
  if (command.kind === 'cancel') return void leave()
  commands.push(command)
  wake?.()
})

/** Whoever wanted the rows has gone. What the database does for them ends there, or it would go on behind a connection that is no more. */
async function leave(): Promise<void> {
  await opened?.cancel().catch(() => {})
  process.exit()
}

async function nextCommand(): Promise<Command> {
  for (;;) {
    const command = commands.shift()
    if (command) return command
    await new Promise<void>((resolve) => {
      wake = resolve
    })
  }
}

function post(message: Message, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer)
}

async function readAll(session: Session): Promise<void> {
  post({ kind: 'connected', notes: session.notes })
  let before = 0
  for (const statement of statements) {
    const described = await watched(session, beforeRows, () => session.describe(statement))
    const names = identifiers(described.columns.map(({ label }) => label))
    const columns = described.columns.map((column, index): FeedColumn => ({ name: names[index]!, ...column }))
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

/** What is asked before there is a session may be left without an answer too. */
function open(): Promise<Session> {
  const opened: Socket[] = []
  const received = () => opened.reduce((sum, { bytesRead }) => sum + bytesRead, 0)
  return watched({ received }, beforeRows, () => engine.open({ config, addresses, limits, opened }))
}

/** What a session does, unless it takes too long without a sign of life. */
async function watched<T>(
  session: Pick<Session, 'received'>,
  what: Parameters<typeof watch>[1],
  act: () => Promise<T>,
): Promise<T> {
  using _watching = watch(session, what, limits, () =>
    end(databaseProblem({ code: 'SOURCE_SILENT' }, config, engine.name)),
  )
  return await act()
}

/** The first problem counts: what breaks when the thread is taken down afterwards is not heard. */
function end(problem: SourceProblem): void {
  post({ kind: 'problem', code: problem.code, message: problem.message })
  port.close()
  void opened?.cancel().catch(() => {})
  // The driver may be waiting for an answer that does not come; nothing in here is worth waiting for any more.
  setTimeout(() => process.exit(), 1_000).unref()
}

try {
  await using session = await open()
  opened = session
  signedIn = true
  await readAll(session)
  port.close()
} catch (error) {
  const problem = explained(error, config, engine, signedIn)
  // What nobody can mend by changing the source ends the thread, and is logged where that is noticed.
  if (!problem) throw toldAsBug(error, config)
  end(problem)
}
