import type { RunLog } from './log.ts'
import type { Totals } from './progress.ts'

/** Milliseconds. */
const often = 10_000

/**
 * Tells in the log how far a load is: every ten seconds at first, and after ten minutes the seldomer the longer it lasts, so
 * that a day of loading is some hundreds of lines. Disposing it ends it.
 */
export function tellProgress(totals: Readonly<Totals>, log: Pick<RunLog, 'write'>, every: number = often): Disposable {
  const began = performance.now()
  let timer: NodeJS.Timeout
  const schedule = (): void => {
    timer = setTimeout(tell, Math.max(every, (performance.now() - began) / 60))
  }
  const tell = (): void => {
    log.write('INFO', 'LOW', whereItIs(totals))
    schedule()
  }
  schedule()
  return { [Symbol.dispose]: () => clearTimeout(timer) }
}

/** `Read 512 MB of 1,024 MB (50 %), 3,800,000 rows: 128 MB/s, 950,000 rows/s, 4 seconds to go.` */
export function whereItIs(totals: Readonly<Totals>): string {
  const { bytesRead, bytesTotal, rowsRead, rowsRejected, percentage, rowsPerSecond, bytesPerSecond, secondsLeft } =
    totals
  const of = bytesTotal === null ? '' : ` of ${megabytes(bytesTotal)}`
  const share = percentage === null ? '' : ` (${Math.floor(percentage)} %)`
  const aside = rowsRejected === 0 ? '' : `, ${count(rowsRejected)} of them set aside`
  const left = secondsLeft === null ? '' : `, ${duration(secondsLeft)} to go`
  const rates = `${megabytes(bytesPerSecond)}/s, ${count(rowsPerSecond)} rows/s`
  return `Read ${megabytes(bytesRead)}${of}${share}, ${count(rowsRead)} rows${aside}: ${rates}${left}.`
}

const count = (amount: number): string => Math.round(amount).toLocaleString('en')

function megabytes(bytes: number): string {
  const amount = bytes / 1_000_000
  return `${amount.toLocaleString('en', { maximumFractionDigits: amount < 10 ? 1 : 0 })} MB`
}

function duration(seconds: number): string {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} seconds`
  const minutes = Math.round(seconds / 60)
  return minutes < 90 ? `${minutes} minutes` : `${(minutes / 60).toFixed(1)} hours`
}
