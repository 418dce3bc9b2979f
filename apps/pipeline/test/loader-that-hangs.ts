import { setTimeout as sleep } from 'node:timers/promises'
import { openPostgresWarehouse } from '../src/engine/warehouses/postgres/postgres-warehouse.ts'
import { columns, never, text } from './rows.ts'

/** A worker to be killed: loads a million rows, then hangs in the middle of COPY or just before it would publish. */
const { access, target, where } = JSON.parse(process.argv[2]!)
const warehouse = openPostgresWarehouse(access)
const load = await warehouse.beginLoad({ ...target, columns: columns({ id: 'INTEGER', name: 'TEXT' }) }, never)

async function* rows() {
  for (let batch = 0; batch < 100; batch += 1) yield Buffer.from('7\tseven\n'.repeat(10_000))
  if (where !== 'in COPY') return
  process.stdout.write('hanging\n')
  await sleep(600_000)
}

await load.write(text(rows()), never)
process.stdout.write('hanging\n')
await sleep(600_000)
