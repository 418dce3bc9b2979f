import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** The event loop of a process, in milliseconds: percentile 99.9 and maximum. */
export interface EventLoopRecord {
  /** The delay of a timer. */
  delay: number
  longestDelay: number
  /** Processor time of the thread between two turns of a timer. It does not depend on other processes. */
  busy: number
  longestBusy: number
}

/** The environment of programs whose event loop can be measured. `folder` receives the records. */
export const recordedEnvironment = (folder: string): NodeJS.ProcessEnv => ({
  EVENT_LOOP_FOLDER: folder,
  NODE_OPTIONS: `--import=${join(import.meta.dirname, 'event-loop-recorder.ts')}`,
})

/** Returns the record of the event loop of a process during `work`. */
export async function measureEventLoop(
  { pid, folder }: { pid: number; folder: string },
  work: () => Promise<unknown>,
): Promise<EventLoopRecord> {
  const file = join(folder, `event-loop-${pid}.json`)
  await rm(file, { force: true })
  process.kill(pid, 'SIGUSR2')
  await work()
  process.kill(pid, 'SIGUSR2')
  for (;;) {
    const text = await readFile(file, 'utf8').catch(() => '')
    if (text !== '') return JSON.parse(text) as EventLoopRecord
    await pause(20)
  }
}
