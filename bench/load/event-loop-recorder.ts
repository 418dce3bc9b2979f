import { writeFileSync } from 'node:fs'
import { createHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

/**
 * Imported into the measured programs with `--import`. The first SIGUSR2 starts to record the event loop, the next one
 * writes the record to a file in EVENT_LOOP_FOLDER, and so on.
 */

/** Milliseconds between two samples. The delays contain them, so they are subtracted. */
const resolution = 1

const toMilliseconds = (nanoseconds: number) => nanoseconds / 1e6

if (isMainThread) {
  const delay = monitorEventLoopDelay({ resolution })
  // The delay also contains the time in which other processes use the processors; the processor time of this thread
  // does not.
  const busy = createHistogram()
  let timer: NodeJS.Timeout | undefined

  function record(): void {
    delay.reset()
    busy.reset()
    delay.enable()
    let last = process.threadCpuUsage()
    timer = setInterval(() => {
      const { user, system } = process.threadCpuUsage(last)
      last = process.threadCpuUsage()
      busy.record(Math.max(1, Math.round((user + system) * 1e3)))
    }, resolution)
  }

  function write(): void {
    clearInterval(timer)
    timer = undefined
    delay.disable()
    const result = {
      delay: Math.max(0, toMilliseconds(delay.percentile(99.9)) - resolution),
      longestDelay: Math.max(0, toMilliseconds(delay.max) - resolution),
      busy: toMilliseconds(busy.percentile(99.9)),
      longestBusy: toMilliseconds(busy.max),
    }
    writeFileSync(`${process.env['EVENT_LOOP_FOLDER']}/event-loop-${process.pid}.json`, JSON.stringify(result))
  }

  process.on('SIGUSR2', () => (timer ? write() : record()))
}
