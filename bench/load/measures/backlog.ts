import { createLoadedPipeline, runAndWait } from '../loaders/sluice-loader.ts'
import { readProcessorTime } from '../processor-time.ts'
import type { BenchContext, MeasureReport } from './measure.ts'
import { writeOneRow } from './one-row.ts'

const queuedRuns = 20

/** Requests twenty runs of one row of one organisation at once, and measures the time until the last one has ended. */
export async function* backlog(context: BenchContext): AsyncGenerator<MeasureReport> {
  const { installation, folder, rounds } = context
  const file = await writeOneRow(folder)
  const pipelines = []
  for (let number = 1; number <= queuedRuns; number++)
    pipelines.push(await createLoadedPipeline(installation, { name: `backlog_${number}`, type: 'CSV_UPLOAD', file }))
  const times: number[] = []
  const used: number[] = []
  for (let round = 0; round < rounds; round++) {
    const before = await readProcessorTime(installation.workerPid)
    const ended = await Promise.all(pipelines.map((pipeline) => runAndWait(installation, pipeline)))
    const [first, last] = [
      Math.min(...ended.map((run) => run.requested)),
      Math.max(...ended.map((run) => run.finished)),
    ]
    times.push(last - first)
    used.push((await readProcessorTime(installation.workerPid)) - before)
  }
  yield {
    title: `${queuedRuns} queued runs of one row of one organisation, slowest of ${rounds} rounds`,
    figures: [],
    targets: [
      {
        text: 'time from the first request to the end of the last run',
        value: Math.max(...times) / 1000,
        limit: 4,
        unit: 's',
      },
      { text: 'processor time of the worker', value: Math.max(...used) / 1000, limit: 2, unit: 's' },
    ],
  }
}
