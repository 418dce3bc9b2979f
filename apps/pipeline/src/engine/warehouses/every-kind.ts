import type { KeyRing } from '@sluice/database'
import type { Redaction } from '@sluice/process'
import { type Kysely, sql } from 'kysely'
import type { DB } from '../../database.ts'
import { type ClientWarehouses, warehouseCredentials } from './client-warehouses.ts'
import { type Kind, postgresKind } from './kinds.ts'
import { emptyWarehouse } from './empty-warehouse.ts'
import type { OtherKind } from './other-kinds.ts'
import type { Warehouse } from './warehouse.ts'
import { type Opened, warehouseOfKinds } from './warehouse-of-kinds.ts'

interface Parts {
  db: Kysely<DB>
  keyRing: KeyRing
  redaction: Redaction
  /** What there is beside PostgreSQL. */
  others: readonly OtherKind[]
}

/**
 * The warehouses of clients in PostgreSQL and, for schemas of their kinds, on other servers. Whoever has schemas in PostgreSQL alone gets
 * that warehouse as it is.
 */
export function everyKind(postgres: ClientWarehouses, { db, keyRing, redaction, others }: Parts): ClientWarehouses {
  const known = new Map<string, Promise<Warehouse | undefined>>()

  async function kindsOf(client: string): Promise<ReadonlyMap<string, Kind>> {
    const rows = await db
      .selectFrom('schemas')
      .select(['schema_name', 'provider_schema'])
      .where('client', '=', client)
      .execute()
    return new Map(rows.map(({ schema_name, provider_schema }) => [schema_name, provider_schema as Kind]))
  }

  /** What waits to be dropped may be all that is left there. */
  async function somethingLeft(client: string): Promise<boolean> {
    const { rows } = await sql`select from warehouse_drops where client = ${client} limit 1`.execute(db)
    return rows.length > 0
  }

  async function made(client: string, { open }: OtherKind): Promise<Warehouse | undefined> {
    const credentials = await warehouseCredentials({ db, keyRing, redaction }, client)
    return credentials && open(credentials, redaction)
  }

  /** The one of this process: a second beside it would have turns and connections of its own. */
  async function opened(client: string, other: OtherKind): Promise<(readonly [Kind, Warehouse])[]> {
    const key = JSON.stringify([client, other.kind])
    const opening = known.get(key) ?? made(client, other)
    known.set(key, opening)
    const warehouse = await opening.catch((error: unknown) => {
      known.delete(key)
      throw error
    })
    if (warehouse) return [[other.kind, warehouse]]
    known.delete(key)
    return []
  }

  async function together(client: string, usual: Warehouse): Promise<Warehouse> {
    const used = new Set((await kindsOf(client)).values())
    const elsewhere = [...used].some((kind) => kind !== postgresKind)
    const left = others.length > 0 && (await somethingLeft(client))
    if (!elsewhere && !left) return usual
    const wanted = others.filter(({ kind }) => left || used.has(kind))
    const there = await Promise.all(wanted.map((other) => opened(client, other)))
    const all: Opened = [[postgresKind, usual], ...there.flat()]
    return warehouseOfKinds(all, () => kindsOf(client))
  }

  return {
    kinds: [...postgres.kinds, ...others.map(({ kind }) => kind)],
    open: async (client) => together(client, await postgres.open(client)),
    async find(client) {
      const usual = await postgres.find(client)
      return usual && together(client, usual)
    },
    async erase(client) {
      const used = new Set((await kindsOf(client)).values())
      const left = others.length > 0 && (await somethingLeft(client))
      for (const other of others.filter(({ kind }) => left || used.has(kind))) {
        const [there] = await opened(client, other)
        if (there) await emptyWarehouse(there[1])
        known.delete(JSON.stringify([client, other.kind]))
      }
      await postgres.erase(client)
    },
    readAccess: (client) => postgres.readAccess(client),
    check: () => postgres.check(),
    others: [...postgres.others, ...others.map(({ part }) => part)],
    async [Symbol.asyncDispose]() {
      known.clear()
      await postgres[Symbol.asyncDispose]()
    },
  }
}
