import { setTimeout as sleep } from 'node:timers/promises'
import { openPostgresWarehouse } from '../src/postgres/postgres-warehouse.ts'
import { columns, never } from './row-fixtures.ts'
import { binary, tuple } from './copy-tuples.ts'

/** A worker to be killed: loads a million rows, then hangs in the middle of COPY or just before it would publish. */
const { access, target, where } = JSON.parse(process.argv[2]!)
const warehouse = openPostgresWarehouse(access)
const load = await warehouse.loader.stage({ ...target, columns: columns({ id: 'INTEGER', name: 'TEXT' }) }, never)

const sevens = Buffer.concat(Array.from({ length: 10_000 }, () => tuple([7, 'seven'])))
async function* rows() {
  for (let batch = 0; batch < 100; batch += 1) yield { bytes: sevens }
  if (where !== 'in COPY') return
  process.stdout.write('hanging\n')
  await sleep(600_000)
}

await load.write(binary(rows), never)
process.stdout.write('hanging\n')
await sleep(600_000)
