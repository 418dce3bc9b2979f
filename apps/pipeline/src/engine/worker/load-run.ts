import type { KeyRing } from '@sluice/database'
import type { Redaction } from '@sluice/process'
import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import { openSourceSecrets } from '../../source-secrets.ts'
import { clearTheWay } from '../drops/drops.ts'
import { type LoadedTable, loadFeeds, LoadProblem } from '../loads/load-feeds.ts'
import type { Claim } from '../runs/claim.ts'
import type { Outcome } from '../runs/finish-run.ts'
import type { RunLog } from '../runs/log.ts'
import { openMeter } from '../runs/meter.ts'
import type { Totals } from '../runs/progress.ts'
import { tellProgress } from '../runs/progress-lines.ts'
import { openRejectedRows } from '../runs/rejected.ts'
import { runsUnderWay } from '../runs/under-way.ts'
import type { Report } from '../sources/source.ts'
import type { Sources } from '../sources/sources.ts'
import type { ClientWarehouses } from '../warehouses/client-warehouses.ts'
import { whatChanged, whatWasLoaded } from './sentences.ts'
import { patience } from './silent-source.ts'

/** What every run needs of the process. */
export interface LoadingParts {
  db: Kysely<DB>
  warehouses: ClientWarehouses
  sources: Sources
  /** Opens the secrets of sources. */
  keyRing: KeyRing
  /** Runs of one client at once, in all workers together. */
  clientConcurrency: number
  redaction: Redaction
  /** Seconds without a sign of life after which a source is given up. */
  sourceSilence: number
  /** Whether a client exists and may load. True where nobody can tell just now. */
  clientStands(client: string): Promise<boolean>
}

/** What this run needs of its attempt. */
export interface Attempt {
  claim: Claim
  log: RunLog
  signal: AbortSignal
  /** Where the counts go, from the moment that something is read. */
  count(totals: Totals): void
  stillOurs(): Promise<boolean>
}

export type Success = Extract<Outcome, { state: 'OK' | 'WARNING' }>

/**
 * From the source into the client's warehouse. A run that an earlier attempt has published is answered from the ledger.
 * Throws what `loadFeeds` throws.
 */
export async function loadRun(parts: LoadingParts, attempt: Attempt): Promise<Success> {
  const { claim, log } = attempt
  if (!(await parts.clientStands(claim.client)))
    throw new LoadProblem(
      'CLIENT_DISABLED',
      'Data pipelines are switched off for this organisation. The old data stays.',
    )
  const warehouse = await parts.warehouses.open(claim.client)

  const earlier = await warehouse.findPublication(claim.uid)
  if (earlier) {
    log.write('INFO', 'LOW', 'An earlier attempt has published this run already.')
    return successOf(earlier.tables, claim.rowsRejected)
  }
  if (claim.attempt > 1) await warehouse.sweepStaging(() => othersUnderWay(parts.db, claim))
  await clearTheWay(parts.db, warehouse, { client: claim.client, ...claim.pipeline })
  await warehouse.ensureSchema(claim.pipeline.schema)
  const { tables, rejected } = await load(parts, attempt, warehouse)
  for (const table of tables) for (const change of table.changes) log.write('WARN', 'HIGH', whatChanged(table, change))
  return successOf(tables, rejected)
}

async function load(
  { db, sources, keyRing, sourceSilence }: LoadingParts,
  { claim, log, signal: stopping, count, stillOurs }: Attempt,
  warehouse: Parameters<typeof loadFeeds>[0]['warehouse'],
): Promise<{ tables: LoadedTable[]; rejected: number }> {
  const { uid: run, attempt, input, pipeline } = claim
  await using rejected = await openRejectedRows(db, claim)
  const meter = openMeter()
  count(meter)
  using _telling = tellProgress(meter, log)
  const silent = new AbortController()
  const signal = AbortSignal.any([stopping, silent.signal])
  const source = patience(sourceSilence, (reason) => silent.abort(reason))
  let firstRejected: string | undefined
  const report: Report = {
    progress(counts) {
      source.sign()
      meter.progress(counts)
    },
    reject(row) {
      firstRejected ??= `line ${row.line}: ${row.reason}`
      rejected.add(row)
      meter.rejected(rejected.count)
    },
    rejectMore(rows) {
      rejected.addMore(rows)
      meter.rejected(rejected.count)
    },
    async startOver() {
      source.sign()
      meter.startOver()
      firstRejected = undefined
      await rejected.startOver()
    },
    log: (level, importance, message) => log.write(level, importance, message),
  }
  const { type, settings } = pipeline
  const secrets = openSourceSecrets(pipeline, keyRing)
  const feeds = sources.read({ type, settings, secrets, input }, report, signal)
  const target = { schema: pipeline.schema, table: pipeline.table }
  const tables = await loadFeeds({
    feeds: source.watch(feeds),
    warehouse,
    target,
    run,
    attempt,
    stillOurs,
    signal,
    rejected: () => ({ count: rejected.count, first: firstRejected }),
    transformation: pipeline.sqlStatements,
  })
  return { tables, rejected: rejected.count }
}

/** What earlier attempts at this run left in the way is dropped before it is loaded anew. */
async function othersUnderWay(db: Kysely<DB>, { client, uid }: Claim): Promise<ReadonlySet<string>> {
  const runs = await runsUnderWay(db, client)
  runs.delete(uid)
  return runs
}

/** Empty is what the source said, so it is loaded, but hardly what anybody meant. */
export function successOf(tables: readonly LoadedTable[], rejected: number): Success {
  const rowsWritten = tables.reduce((sum, { rows }) => sum + rows, 0)
  return {
    state: rejected > 0 || rowsWritten === 0 ? 'WARNING' : 'OK',
    message: whatWasLoaded(tables, rejected),
    rowsWritten,
    bytesWritten: tables.reduce((sum, { bytes }) => sum + bytes, 0),
    rowsRejected: rejected,
  }
}
