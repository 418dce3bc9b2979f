import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import type { Attack, Statuses } from './attacks.ts'
import { json, createPipeline, type Organisation } from './bench-organisation.ts'

/** Outcomes of statements, in place of HTTP statuses: refused or ended sessions count as 503. */
const count = (statuses: Statuses, status: number) => statuses.set(status, (statuses.get(status) ?? 0) + 1)

/** Returns the connection strings of as many readers as an organisation can have. */
async function makeReaders(attacker: Organisation): Promise<string[]> {
  await createPipeline(attacker, 'a\n1\n')
  const { body: earlier } = await attacker.call('GET', '/warehouse-readers?paging=false')
  for (const { id } of earlier.results ?? earlier) await attacker.call('DELETE', `/warehouse-readers/${id}`)
  const strings: string[] = []
  for (let number = 0; number < 20; number += 1) {
    const body = { name: `r${randomBytes(6).toString('hex')}`, schemas: [{ id: attacker.schema }] }
    const { status, body: reader } = await attacker.call('POST', '/warehouse-readers', json(body))
    if (status !== 201) throw new Error(JSON.stringify(reader))
    strings.push(reader.connectionStrings.libpq.replace(/sslmode=[^&]*/, 'sslmode=disable'))
  }
  return strings
}

/** Keeps ten sessions of each reader open, as far as the server lets them, each of which repeats the statement. */
const sessionsThat =
  (statement: string): Attack['prepare'] =>
  async (attacker) => {
    const strings = await makeReaders(attacker)
    return async (signal, statuses) => {
      // The driver never settles `connect` of a client that is ended while it connects.
      const aborted = once(signal, 'abort')
      const repeat = async (connectionString: string) => {
        while (!signal.aborted) {
          const session = new Client({ connectionString, connectionTimeoutMillis: 5_000 })
          session.on('error', () => {})
          const end = () => void session.end().catch(() => {})
          signal.addEventListener('abort', end)
          try {
            await Promise.race([session.connect(), aborted])
            while (!signal.aborted) {
              await session.query(statement)
              count(statuses, 200)
            }
          } catch {
            count(statuses, 503)
            await sleep(100)
          }
          signal.removeEventListener('abort', end)
          end()
        }
      }
      await Promise.all(strings.flatMap((string) => Array.from({ length: 10 }, () => repeat(string))))
    }
  }

export const readerAttacks: Record<string, Attack> = {
  'reader-sorts': {
    description: '20 readers with 10 sessions each, which sort',
    expectsRefusals: true,
    prepare: sessionsThat(
      `set work_mem = '16MB'; select max(n) from (select n from generate_series(1, 3000000) n order by n desc) s`,
    ),
  },
  'reader-notifications': {
    description: '20 readers with 10 sessions each, which listen in a transaction and notify',
    expectsRefusals: true,
    prepare: sessionsThat(`listen x; begin; do $$ begin for i in 1..2000 loop
      execute format('notify x, %L', i || repeat('x', 7000)); end loop; end $$; commit; begin; select pg_sleep(2)`),
  },
}
