import { refreshView } from '../views/refresh.ts'
import type { Attempt, Success, Work, WorkParts } from './work.ts'

/** Fills a materialised view anew; of a plain one it shows that it can be read. Doing it twice does no harm. */
async function run({ db, warehouses }: WorkParts, { claim, log, signal }: Attempt): Promise<Success> {
  log.write('INFO', 'LOW', `Attempt ${claim.attempt} begins to refresh "${claim.subject.name}".`)
  const warehouse = await warehouses.open(claim.client)
  const say = (line: string) => log.write('WARN', 'MEDIUM', line)
  const { message, pending, rows, bytes } = await refreshView(db, warehouse, claim.subject.id, { signal, say })
  return { state: pending ? 'WARNING' : 'OK', message, rowsWritten: rows, bytesWritten: bytes, rowsRejected: 0 }
}

export const viewWork: Work = { run }
