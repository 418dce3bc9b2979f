import type { TableProgress, Totals } from './heartbeat.ts'
import type { RunLog } from './run-log.ts'

/** Measures the progress of a load. The values of `Totals` are computed when they are read. */
export interface ProgressMeter extends Readonly<Totals> {
  /** Sets the totals since the source was last opened. */
  progress(totals: { bytesRead?: number; bytesTotal?: number; rowsRead?: number }): void
  rejected(rows: number): void
  /** Begins the next table of the source. */
  startTable(table: string): void
  /** Sets the rows of the current table, which has been read. */
  finishTable(rows: number): void
  /** Resets the counts because the source is read again. The percentage stays until it is exceeded. */
  startOver(): void
}

/** Rates are averages over `averagingSpanMs`, from samples every `sampleIntervalMs`. */
const averagingSpanMs = 10_000
const sampleIntervalMs = 250
/** The remaining time is estimated only after this many milliseconds of reading. */
const minReadingMs = 2_000

/** A running load never shows 100 %, because it is published after everything is read. */
const maxPercentageWhileRunning = 99.9

/** Each heartbeat stores the tables again, so their number is limited to the last ones. */
const maxReportedTables = 200

interface ProgressSample {
  at: number
  bytes: number
  rows: number
}

/** Returns a progress meter. `now` is a monotonic clock in milliseconds. */
export function openMeter(now: () => number = () => performance.now()): ProgressMeter {
  let counts = { bytesRead: 0, bytesTotal: null as number | null, rowsRead: 0, rowsRejected: 0 }
  let samples: ProgressSample[] = [{ at: now(), bytes: 0, rows: 0 }]
  let highestPercentage: number | null = null
  let tables: TableProgress[] = []
  /** The rows that were read before the current table. */
  let earlierRows = 0

  function sample(): void {
    const at = now()
    if (at - samples.at(-1)!.at < sampleIntervalMs) return
    samples.push({ at, bytes: counts.bytesRead, rows: counts.rowsRead })
    // Keep one sample that is older than the span, to compute the rate from it.
    while (samples.length > 2 && samples[1]!.at <= at - averagingSpanMs) samples.shift()
  }

  /** Returns the rate per second over the span. */
  function rate(amount: 'bytes' | 'rows', current: number): number {
    const { at, [amount]: before } = samples[0]!
    const passed = now() - at
    return passed < sampleIntervalMs ? 0 : ((current - before) / passed) * 1000
  }

  /** Updates and returns the highest percentage until now. */
  function percentage(): number | null {
    const { bytesRead, bytesTotal } = counts
    if (bytesTotal === null) return highestPercentage
    const current = bytesTotal === 0 ? maxPercentageWhileRunning : Math.round((bytesRead / bytesTotal) * 1000) / 10
    highestPercentage = Math.max(highestPercentage ?? 0, Math.min(maxPercentageWhileRunning, current))
    return highestPercentage
  }

  return {
    progress(totals) {
      counts = { ...counts, ...totals }
      sample()
    },
    startTable(table) {
      earlierRows = counts.rowsRead
      tables = [...tables, { table, rowsRead: 0, state: 'READING' as const }].slice(-maxReportedTables)
    },
    finishTable(rowsRead) {
      const current = tables.at(-1)
      if (current) tables = [...tables.slice(0, -1), { ...current, rowsRead, state: 'READ' }]
    },
    rejected: (rows) => void (counts.rowsRejected = rows),
    startOver() {
      // Updates the highest percentage before the counts are reset.
      percentage()
      counts = { ...counts, bytesRead: 0, rowsRead: 0, rowsRejected: 0 }
      samples = [{ at: now(), bytes: 0, rows: 0 }]
    },
    get bytesRead() {
      return counts.bytesRead
    },
    get bytesTotal() {
      return counts.bytesTotal
    },
    get rowsRead() {
      return counts.rowsRead
    },
    get tables() {
      if (tables.length < 2) return undefined
      const rowsReadOfCurrentTable = Math.max(0, counts.rowsRead - earlierRows)
      return tables.map((table) => (table.state === 'READ' ? table : { ...table, rowsRead: rowsReadOfCurrentTable }))
    },
    get rowsRejected() {
      return counts.rowsRejected
    },
    get percentage() {
      return percentage()
    },
    get rowsPerSecond() {
      return rate('rows', counts.rowsRead)
    },
    get bytesPerSecond() {
      return rate('bytes', counts.bytesRead)
    },
    get secondsLeft() {
      const bytesLeft = (counts.bytesTotal ?? 0) - counts.bytesRead
      const perSecond = rate('bytes', counts.bytesRead)
      const isReliable = bytesLeft > 0 && perSecond > 0 && now() - samples[0]!.at >= minReadingMs
      return isReliable ? bytesLeft / perSecond : null
    },
  }
}

/** Milliseconds between two log lines with the progress. */
const logIntervalMs = 10_000

/** The interval of log lines is at least this fraction of the load's duration, so that a day has some hundred lines. */
const logIntervalFraction = 1 / 60

/** Logs the progress of a load every `intervalMs`; in a long load, less often. Dispose of the result to stop. */
export function logProgress(
  totals: Readonly<Totals>,
  log: Pick<RunLog, 'write'>,
  intervalMs: number = logIntervalMs,
): Disposable {
  const startedAt = performance.now()
  let timer: NodeJS.Timeout
  const schedule = (): void => {
    const durationMs = performance.now() - startedAt
    timer = setTimeout(writeLine, Math.max(intervalMs, durationMs * logIntervalFraction))
  }
  const writeLine = (): void => {
    log.write('INFO', 'LOW', describeProgress(totals))
    schedule()
  }
  schedule()
  return { [Symbol.dispose]: () => clearTimeout(timer) }
}

/**
 * Formats the progress, for example `Read 512 MB of 1,024 MB (50 %), 3,800,000 rows: 128 MB/s, 950,000 rows/s, 4
 * seconds left.`
 */
export function describeProgress(totals: Readonly<Totals>): string {
  const { bytesRead, bytesTotal, rowsRead, rowsRejected, percentage, rowsPerSecond, bytesPerSecond, secondsLeft } =
    totals
  const ofTotal = bytesTotal === null ? '' : ` of ${formatDataSize(bytesTotal)}`
  const percentageText = percentage === null ? '' : ` (${Math.floor(percentage)} %)`
  const rejectedText = rowsRejected === 0 ? '' : `, ${formatRounded(rowsRejected)} of them rejected`
  const timeLeftText = secondsLeft === null ? '' : `, ${formatDuration(secondsLeft)} left`
  const rates = `${formatDataSize(bytesPerSecond)}/s, ${formatRounded(rowsPerSecond)} rows/s`
  return `Read ${formatDataSize(bytesRead)}${ofTotal}${percentageText}, ${formatRounded(rowsRead)} rows${rejectedText}: ${rates}${timeLeftText}.`
}

const formatRounded = (amount: number): string => Math.round(amount).toLocaleString('en')

function formatDataSize(bytes: number): string {
  const amount = bytes / 1_000_000
  return `${amount.toLocaleString('en', { maximumFractionDigits: amount < 10 ? 1 : 0 })} MB`
}

function formatDuration(seconds: number): string {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} seconds`
  const minutes = Math.round(seconds / 60)
  return minutes < 90 ? `${minutes} minutes` : `${(minutes / 60).toFixed(1)} hours`
}
