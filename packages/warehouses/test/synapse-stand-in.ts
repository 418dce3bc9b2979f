import type { Warehouse } from '../src/warehouse.ts'
import { synapseAccess } from '../src/synapse/synapse-settings.ts'
import { openSynapseWarehouse } from '../src/synapse/synapse-dialect.ts'
import type { ClientAccess } from '../src/tsql/tsql-settings.ts'
import { loadAll } from './row-fixtures.ts'
import type { Answer } from './tds/responses.ts'
import { type StandIn, type Statement, tdsStandIn } from './tds/tds-server-stand-in.ts'
import { rememberedSynapse } from './tds/stateful-synapse-responses.ts'

type Instead = (statement: Statement, session: object) => Answer | Promise<Answer>

export interface SynapseUnderTest extends AsyncDisposable {
  server: StandIn
  access: ClientAccess
  warehouse: Warehouse
  memory: ReturnType<typeof rememberedSynapse>
  /** Asked first, where a test wants an answer of its own. */
  instead: Instead
  /** Ends all connections at the n-th statement from the next transaction on, before it is heard or behind. */
  cutAt(statement: number, heard: boolean): void
  /** Until somebody waits for their turn. */
  waits(): Promise<void>
  /** What a publication says, from its first transaction on. */
  publicationOf(target: Parameters<typeof loadAll>[1], rows: Parameters<typeof loadAll>[2]): Promise<string[]>
}

/** A client of a dedicated SQL pool that remembers names and the ledger, and refuses what such a pool refuses. */
export async function synapseStandIn(): Promise<SynapseUnderTest> {
  const memory = rememberedSynapse('c_abc')
  const server = await tdsStandIn({
    answer: (statement, session) => subject.instead(statement, session) ?? memory.answer(statement, session),
    lost: memory.lost,
    stopped: memory.stopped,
  })
  const url = `mssql://admin:secret@127.0.0.1:${server.port}/pool?encrypt=false`
  const access = synapseAccess(url, { key: 'abc', loadPassword: 'l', readPassword: 'r' })
  const warehouse = openSynapseWarehouse(access)
  const subject: SynapseUnderTest = {
    server,
    access,
    warehouse,
    memory,
    instead: () => undefined,
    cutAt(cut, heard) {
      let at = 0
      subject.instead = (statement, session) => {
        if (at === 0 && statement.text !== 'BEGIN') return undefined
        at += 1
        if (at !== cut) return undefined
        subject.instead = () => undefined
        if (heard) void memory.answer(statement, session)
        server.cut()
        return 'CUT'
      }
    },
    async waits() {
      for (let looks = 0; memory.waiting() === 0; looks += 1) {
        if (looks === 1_000) throw new Error('Nobody waits.')
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    },
    async publicationOf(target, rows) {
      const from = server.statements.length
      await loadAll(warehouse, target, rows)
      const said = server.statements.slice(from).map(({ text }) => text)
      return said.slice(said.indexOf('BEGIN'))
    },
    async [Symbol.asyncDispose]() {
      await warehouse[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
  return subject
}
