import type { Run } from '@sluice/client/pipeline'
import type { LoadWatch } from './load-csv.ts'
import { byteRate, bytesText, rowRate, rowsText } from './format-units.ts'
import type { ProgressView } from './progress-bar.ts'

/** Milliseconds that a run may stay in one state before the user gets a hint. */
const warnAfterMs = 15_000

/** Shows an upload and the run that follows it. */
export function watchLoad(view: ProgressView): LoadWatch {
  let began = performance.now()
  let seen = { state: '', at: performance.now() }
  const said = new Set<string>()

  /** Prints the hint after a run has been in the same state for too long. */
  function wonder(state: string, sentence: string): void {
    const now = performance.now()
    if (state !== seen.state) seen = { state, at: now }
    else if (now - seen.at > warnAfterMs && !said.has(sentence)) {
      said.add(sentence)
      view.say(sentence)
    }
  }

  function waiting(): void {
    wonder('queued', '  Nobody has taken the run yet: is a pipeline worker running, and has it nothing else to do?')
    view.show({ label: 'Queued', part: undefined, detail: 'waiting for a worker' })
  }

  function loading({ progress: { bytesRead, bytesTotal, rowsRead, percentage, rowsPerSecond, bytesPerSecond } }: Run) {
    wonder(
      `${bytesRead} ${rowsRead}`,
      '  No progress for a while: if its worker has died, another one takes the run over within a minute.',
    )
    const part = bytesTotal ? bytesRead / bytesTotal : percentage === undefined ? undefined : percentage / 100
    const rates = `${rowRate(rowsPerSecond, 1000)}, ${byteRate(bytesPerSecond, 1000)}`
    view.show({ label: 'Loading', part, detail: `${rowsText(rowsRead)}, ${rates}` })
  }

  return {
    uploading(sent, size) {
      if (sent === 0) began = performance.now()
      const detail = `${bytesText(sent)}, ${byteRate(sent, performance.now() - began)}`
      view.show({ label: 'Uploading', part: sent / size, detail })
    },
    running: (run) => (run.started === undefined || run.status === 'QUEUED' ? waiting() : loading(run)),
  }
}
