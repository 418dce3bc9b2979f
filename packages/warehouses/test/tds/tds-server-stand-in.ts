import { createServer, type Server, type Socket } from 'node:net'
import {
  type Answer,
  answerTokens,
  attentionToken,
  changeToken,
  loginToken,
  type Refusal,
  refusalToken,
} from './responses.ts'
import { inPackets, kinds, type Message, messagesOf, Reader } from './packets.ts'
import { readBulk, readType, readValue, type Value } from './decode-values.ts'

/** A request of a client. */
export interface Statement {
  text: string
  values: Value[]
  /** Of a bulk load: its rows. */
  rows?: Value[][]
}

export interface StandIn extends AsyncDisposable {
  port: number
  /** All of them, in their order. Beginnings and ends of transactions are BEGIN, COMMIT and ROLLBACK. */
  statements: Statement[]
  /** The number of requests to cancel a running statement. */
  attentions: number
  /** Ends all connections without a word, as a process that is killed does. */
  cut(): void
}

interface Parts {
  /**
   * Called for BEGIN, COMMIT and ROLLBACK too; the value of BEGIN is the isolation level. Each connection has its own
   * `session`.
   */
  answer(statement: Statement, session: object): Answer | Promise<Answer>
  /** Told that a connection has ended, in whatever way. */
  lost?(session: object): void
  /** Called when the client no longer waits for the running statement. */
  stopped?(session: object): void
  /** Refuses a sign-in. */
  refuse?(login: { user: string; password: string }): Refusal | undefined
}

/** No version, no encryption, no instance: just enough for a client to sign in unencrypted. */
const preLogin = Buffer.from([0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xff, 16, 0, 0, 0, 0, 0, 2])

/**
 * A server that speaks TDS 7.4 over a real socket and sends prepared responses: sign-in, batches, sp_executesql, bulk
 * loads, transactions, attention and errors. It stores no tables.
 */
export async function tdsStandIn(parts: Parts): Promise<StandIn> {
  const sockets = new Set<Socket>()
  const found: Pick<StandIn, 'statements' | 'attentions'> = { statements: [], attentions: 0 }
  const server: Server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      parts.lost?.(socket)
    })
    void serve(socket, parts, found).catch(() => socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as { port: number }).port,
    get statements() {
      return found.statements
    },
    get attentions() {
      return found.attentions
    },
    cut: () => sockets.forEach((socket) => socket.destroy()),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function serve(socket: Socket, parts: Parts, found: Pick<StandIn, 'statements' | 'attentions'>): Promise<void> {
  let bulk: string | undefined
  const running = new Set<Promise<void>>()
  let stopped = false
  const write = (bytes: Buffer) => void socket.write(inPackets(bytes))
  const reply = (given: Answer, procedure = false, change: Buffer = Buffer.alloc(0)) => {
    if (given === 'CUT') socket.destroy()
    else write(Buffer.concat([change, answerTokens(given, procedure)]))
  }
  async function run(statement: Statement, procedure: boolean): Promise<void> {
    found.statements.push(statement)
    const given = await parts.answer(statement, socket)
    if (!stopped) reply(given, procedure)
  }
  for await (const message of messagesOf(socket)) {
    if (message.kind === kinds.preLogin) write(preLogin)
    else if (message.kind === kinds.login) {
      const refusal = parts.refuse?.(loginIn(message.bytes))
      write(refusal ? Buffer.concat([refusalToken(refusal), answerTokens(undefined, false)]) : loginToken())
    } else if (message.kind === kinds.transaction) {
      const { statement, change } = transaction(message)
      found.statements.push(statement)
      const given = await parts.answer(statement, socket)
      reply(given, false, given === undefined ? change : undefined)
    } else if (message.kind === kinds.attention) {
      found.attentions += 1
      stopped = true
      parts.stopped?.(socket)
      // What was running ends; then it is said that this is why.
      if (running.size > 0) write(answerTokens({ number: 3617, message: 'The query was stopped.' }, false))
      running.clear()
      write(attentionToken())
    } else if (message.kind === kinds.bulk) {
      const { rows } = message.ignored ? { rows: [] } : readBulk(message.bytes)
      const statement = { text: bulk ?? '', values: [], rows }
      const given = (await parts.answer(statement, socket)) ?? { count: rows.length }
      found.statements.push(statement)
      if (message.ignored) write(attentionToken())
      else reply(given)
    } else {
      stopped = false
      const statement =
        message.kind === kinds.rpc ? procedureIn(message.bytes) : { text: batchIn(message.bytes), values: [] }
      // What every connection begins with.
      if (/^set ansi_nulls /i.test(statement.text)) {
        write(answerTokens(undefined, false))
        continue
      }
      if (/^insert bulk /i.test(statement.text)) {
        bulk = statement.text
        write(answerTokens(undefined, false))
        continue
      }
      // An attention is to be heard while it runs.
      const work = run(statement, message.kind === kinds.rpc).finally(() => running.delete(work))
      running.add(work)
    }
  }
}

function transaction({ bytes }: Message): { statement: Statement; change: Buffer } {
  const from = headless(bytes)
  const kind = from.number(2)
  const mark = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0])
  const none = Buffer.alloc(0)
  if (kind === 5) return { statement: { text: 'BEGIN', values: [from.number(1)] }, change: changeToken(8, mark, none) }
  if (kind === 7) return { statement: { text: 'COMMIT', values: [] }, change: changeToken(9, none, mark) }
  return { statement: { text: 'ROLLBACK', values: [] }, change: changeToken(10, none, mark) }
}

/** Behind the headers that every request has. */
function headless(bytes: Buffer): Reader {
  const from = new Reader(bytes)
  from.take(from.number(4) - 4)
  return from
}

const batchIn = (bytes: Buffer): string => {
  const from = headless(bytes)
  return from.text((bytes.length - from.at) / 2)
}

/** Of sp_executesql: the statement, what its values are declared as, the values. */
function procedureIn(bytes: Buffer): Statement {
  const from = headless(bytes)
  if (from.number(2) !== 0xffff || from.number(2) !== 10)
    throw new Error('Only sp_executesql is known to the stand-in.')
  from.take(2)
  const all: Value[] = []
  while (!from.done) {
    from.text(from.number(1))
    from.take(1)
    all.push(readValue(from, readType(from)))
  }
  return { text: String(all[0]), values: all.slice(2) }
}

/** The protocol scrambles passwords, without encryption. */
function loginIn(bytes: Buffer): { user: string; password: string } {
  const at = (place: number) =>
    bytes.subarray(bytes.readUInt16LE(place), bytes.readUInt16LE(place) + 2 * bytes.readUInt16LE(place + 2))
  const plain = Buffer.from(at(44)).map((byte) => {
    const turned = byte ^ 0xa5
    return ((turned & 15) << 4) | (turned >> 4)
  })
  return { user: at(40).toString('utf16le'), password: Buffer.from(plain).toString('utf16le') }
}
