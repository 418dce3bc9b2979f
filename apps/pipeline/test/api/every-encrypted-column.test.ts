import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { keyRing, resealAll } from '@sluice/database'
import { createLogger, Redaction } from '@sluice/process'
import { sql } from 'kysely'
import { clientWarehouses } from '../../src/warehouses/client-warehouses.ts'
import { sealedColumns } from '../../src/secrets/encrypted-secrets.ts'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { checkBody, groupBody } from './quality-check-bodies.ts'
import { samples, withSecrets } from './pipeline-type-samples.ts'
import { viewBody } from './view-fixtures.ts'

const secret = 'not to be seen'

let service: Service
let client: string
let owner: Asking
beforeAll(async () => {
  service = await startService()
  ;({ id: client } = await service.identity.client())
  const nouns = ['SCHEMA', 'DATA_PIPELINE', 'VARIABLE', 'DESTINATION', 'VIEW'] as const
  const quality = ['ROLE_MANAGE_DATA_QUALITY_CHECK', 'ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP'] as const
  const person = await service.identity.person(client, [
    ...nouns.map((noun) => `ROLE_MANAGE_${noun}` as const),
    ...quality,
  ])
  owner = service.as(person)
})
afterAll(() => service?.stop())

const made = async (path: string, body: object): Promise<{ id: string }> => {
  const answer = await owner.post(path).send(body)
  expect([path, answer.status, answer.body.detail]).toEqual([path, 201, undefined])
  return answer.body
}

/** One of everything that has a secret, as people make it. */
async function secretsOfEveryKind(): Promise<void> {
  const schema = await made('/schemas', schemaBody())
  for (const [type, sample] of Object.entries(samples))
    if (sample.secrets) await made('/data-pipelines', pipelineBody(schema.id, { type, ...withSecrets(sample, secret) }))
  await owner
    .put('/variables')
    .send([{ name: 'WORD', secured: true, value: secret }])
    .expect(200)
  const view = await made('/views', viewBody(schema.id, 'select 1 as one'))
  const destination = { name: 'D', disabled: false, runTrigger: 'NEVER', viewSource: { id: view.id } }
  await made('/destinations', {
    ...destination,
    apiTokenTarget: { url: 'https://dhis2.example.org', authToken: `d2pat_${secret.replaceAll(' ', '_')}` },
  })
  const check = await made('/data-quality-checks', checkBody({ query: `select 1 where \${word} = ''` }))
  const group = await made('/data-quality-check-groups', groupBody({ dataQualityChecks: [{ id: check.id }] }))
  const variables = [{ name: 'word', secured: true, value: secret }]
  await owner.post(`/data-quality-check-groups/${group.id}/start`).send({ variables }).expect(202)
}

interface Found {
  /** `table.column`; behind a schema where it is not ours. */
  column: string
  count: number
}

/**
 * Returns every column of the database, including the queue, that contains a value encrypted with this key:
 * `<key>.<nonce>.<body>`.
 */
async function sealedWith(key: string): Promise<Found[]> {
  const { db } = service.stack
  const { rows: columns } = await sql<{ schema: string; table: string; column: string }>`
    select n.nspname as schema, c.relname as table, a.attname as column
    from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and not c.relispartition and a.attnum > 0 and not a.attisdropped
      and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg\\_%'
      and a.atttypid::regtype::text in ('text', 'character varying', 'json', 'jsonb', 'text[]', 'bytea')`.execute(db)
  const found: Found[] = []
  for (const { schema, table, column } of columns) {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from ${sql.id(schema, table)}
      where ${sql.ref(column)}::text ~ ${`(^|[^\\w-])${key}\\.[\\w-]{16}\\.[\\w-]{22,}`}`.execute(db)
    const name = schema === 'public' ? `${table}.${column}` : `${schema}.${table}.${column}`
    if (rows[0]!.count > 0) found.push({ column: name, count: rows[0]!.count })
  }
  return found.toSorted((one, other) => one.column.localeCompare(other.column))
}

/** What every listed column holds, opened with the only key of a ring. */
async function opened(ring: ReturnType<typeof keyRing>): Promise<string[]> {
  const values: string[] = []
  for (const { table, key, column } of sealedColumns) {
    const { rows } = await sql<{ key: string; value: string }>`
      select ${sql.ref(key)}::text as key, ${sql.ref(column)} as value from ${sql.table(table)}
      where ${sql.ref(column)} is not null order by 1`.execute(service.stack.db)
    for (const row of rows) values.push(`${table}.${column}: ${ring.open(row.value, `${table}.${column}:${row.key}`)}`)
  }
  return values
}

it('re-encryption covers every column with encrypted values, after which the old key is not needed', async () => {
  await secretsOfEveryKind()
  const { db, environment } = service.stack
  const oldKey = environment['SECRET_KEYS']!
  const newKey = `new:${randomBytes(32).toString('base64')}`

  // Found where it is, not where we say that it is; and nothing on the list is left without an example here.
  const before = await sealedWith('test')
  expect(before.map(({ column }) => column)).toEqual(
    sealedColumns.map(({ table, column }) => `${table}.${column}`).toSorted((one, other) => one.localeCompare(other)),
  )
  const plain = await opened(keyRing(oldKey))
  expect(plain.filter((text) => text.includes(secret)).length).toBeGreaterThan(3)

  const lines: string[] = []
  const ring = keyRing(`${newKey},${oldKey}`)
  expect(await resealAll(db, ring, sealedColumns, (line) => lines.push(line))).toBe(true)
  expect(lines.at(-1)).toBe('Everything is sealed with "new": older keys can be taken out of SECRET_KEYS.')
  expect([await sealedWith('test'), await sealedWith('new')]).toEqual([[], before])
  expect(await opened(keyRing(newKey))).toEqual(plain)

  await using warehouses = clientWarehouses({
    db,
    keyRing: keyRing(newKey),
    adminUrl: environment['WAREHOUSE_DATABASE_URL']!,
    logger: createLogger({ name: 'test', level: 'silent', redaction: new Redaction() }),
    redaction: new Redaction(),
  })
  expect(await (await warehouses.open(client)).catalog.listSchemas()).toBeInstanceOf(Array)
})
