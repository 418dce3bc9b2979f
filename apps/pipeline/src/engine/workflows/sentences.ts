import type { RunJob } from './next.ts'

interface NamedJob extends RunJob {
  name: string
}

const most = 5

/** How a workflow's run ended, for people: which jobs failed, and what became of the others. */
export function howItEnded(jobs: readonly NamedJob[]): string {
  const of = (...states: NamedJob['state'][]) => jobs.filter(({ state }) => states.includes(state))
  const [done, warned, failed, cancelled, skipped] = [
    of('OK', 'WARNING'),
    of('WARNING'),
    of('FAILED'),
    of('CANCELLED'),
    of('SKIPPED'),
  ]
  if (failed.length + cancelled.length + done.length === 0)
    return 'No job ran: the workflow has none, or all of them are disabled.'
  return [
    failed.length > 0 && `${jobsWord(failed)} failed: ${named(failed)}.`,
    cancelled.length > 0 && `${jobsWord(cancelled)} cancelled: ${named(cancelled)}.`,
    done.length > 0 && `${jobsWord(done)} ended${warned.length > 0 ? '' : ' well'}.`,
    warned.length > 0 && `With warnings: ${named(warned)}.`,
    skipped.length > 0 && `Left out: ${named(skipped)}.`,
    failed.length + cancelled.length > 0 && 'Look at their runs, then run the workflow again.',
  ]
    .filter((sentence) => sentence !== false)
    .join(' ')
}

const jobsWord = ({ length }: readonly NamedJob[]) => (length === 1 ? '1 job' : `${length} jobs`)

function named(jobs: readonly NamedJob[]): string {
  const names = jobs.slice(0, most).map(({ name }) => `"${name}"`)
  if (jobs.length > most) names.push(`${jobs.length - most} more`)
  const last = names.pop()!
  return names.length > 0 ? `${names.join(', ')} and ${last}` : last
}

export const howJobEnded: Readonly<Record<'OK' | 'WARNING' | 'FAILED' | 'CANCELLED', string>> = {
  OK: 'ended well.',
  WARNING: 'ended with a warning.',
  FAILED: 'failed.',
  CANCELLED: 'was cancelled.',
}
