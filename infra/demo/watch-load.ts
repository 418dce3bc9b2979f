import type { Run } from '@sluice/client/pipeline'
import type { LoadWatch } from './load-csv.ts'
import { byteRate, bytesText, rowRate, rowsText } from './format-units.ts'
import type { ProgressView } from './progress-bar.ts'

/** Milliseconds that a run may stay in one state before the user gets a hint. */
const warnAfterMs = 15_000

/** Returns callbacks that show the progress of an upload and its run. */
export function watchLoad(view: ProgressView): LoadWatch {
  let startedAt = performance.now()
  let lastState = { state: '', at: performance.now() }
  const printedHints = new Set<string>()

  /** Prints the hint once if the run has been in the same state for too long. */
  function printHintIfStuck(state: string, hint: string): void {
    const now = performance.now()
    if (state !== lastState.state) lastState = { state, at: now }
    else if (now - lastState.at > warnAfterMs && !printedHints.has(hint)) {
      printedHints.add(hint)
      view.printLine(hint)
    }
  }

  function showQueued(): void {
    printHintIfStuck(
      'queued',
      '  No worker has taken the run yet. Check that a pipeline worker is running and not busy with other runs.',
    )
    view.show({ label: 'Queued', fraction: undefined, detail: 'waiting for a worker' })
  }

  function showLoading({
    progress: { bytesRead, bytesTotal, rowsRead, percentage, rowsPerSecond, bytesPerSecond },
  }: Run) {
    printHintIfStuck(
      `${bytesRead} ${rowsRead}`,
      '  No progress for a while. If the worker has crashed, another one takes over the run within a minute.',
    )
    const fraction = bytesTotal ? bytesRead / bytesTotal : percentage === undefined ? undefined : percentage / 100
    const rates = `${rowRate(rowsPerSecond, 1000)}, ${byteRate(bytesPerSecond, 1000)}`
    view.show({ label: 'Loading', fraction, detail: `${rowsText(rowsRead)}, ${rates}` })
  }

  return {
    uploading(sent, size) {
      if (sent === 0) startedAt = performance.now()
      const detail = `${bytesText(sent)}, ${byteRate(sent, performance.now() - startedAt)}`
      view.show({ label: 'Uploading', fraction: sent / size, detail })
    },
    running: (run) => (run.started === undefined || run.status === 'QUEUED' ? showQueued() : showLoading(run)),
  }
}
