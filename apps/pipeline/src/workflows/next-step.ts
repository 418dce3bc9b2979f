/** SKIPPED: the job is disabled, or others failed. */
export const jobStates = ['WAITING', 'RUNNING', 'OK', 'WARNING', 'FAILED', 'CANCELLED', 'SKIPPED'] as const
export type JobState = (typeof jobStates)[number]

/** STOP: the jobs after a failed job are skipped. CONTINUE: they run. */
export type ErrorStrategy = 'STOP' | 'CONTINUE'

/** A job of a workflow's run with the settings of its step. */
export interface RunJob {
  step: number
  job: number
  executionMode: 'SERIAL' | 'PARALLEL'
  /** Seconds from the end of its step to the start of the next one. */
  delayAfter: number
  state: JobState
  finishedAt: Date | null
}

/** The next action of a workflow's run. `wait`: for the running jobs, or until a time. */
export type NextAction<Job extends RunJob> =
  | { act: 'start' | 'skip'; jobs: Job[] }
  | { act: 'wait'; until?: Date }
  | { act: 'end'; state: 'OK' | 'WARNING' | 'FAILED' }

const hasFailed = ({ state }: RunJob) => state === 'FAILED' || state === 'CANCELLED'
const hasRun = ({ state }: RunJob) => state !== 'WAITING' && state !== 'SKIPPED'

/** Returns the next action. It depends on the arguments only. */
export function chooseNextAction<Job extends RunJob>(
  jobs: readonly Job[],
  strategy: ErrorStrategy,
  now: Date,
): NextAction<Job> {
  const waiting = jobs.filter(({ state }) => state === 'WAITING')
  const running = jobs.filter(({ state }) => state === 'RUNNING')
  if (waiting.length === 0) return running.length > 0 ? { act: 'wait' } : { act: 'end', state: computeEndState(jobs) }
  if (strategy === 'STOP' && jobs.some(hasFailed)) return { act: 'skip', jobs: waiting }

  const step = Math.min(...[...waiting, ...running].map((one) => one.step))
  const ready = waiting.filter((one) => one.step === step)
  if (ready.length === 0) return { act: 'wait' }
  const hasStarted = jobs.some((one) => one.step === step && hasRun(one))
  const due = hasStarted ? undefined : computeStepStart(jobs, step)
  if (due && due > now) return { act: 'wait', until: due }
  if (ready[0]!.executionMode === 'PARALLEL') return { act: 'start', jobs: ready }
  if (running.length > 0) return { act: 'wait' }
  return { act: 'start', jobs: [ready.reduce((one, other) => (other.job < one.job ? other : one))] }
}

/** Returns the earliest start of a step: the delay after the end of the last step that ran. */
function computeStepStart(jobs: readonly RunJob[], step: number): Date | undefined {
  const earlier = jobs.filter((one) => one.step < step && hasRun(one))
  const last = Math.max(...earlier.map((one) => one.step))
  const before = earlier.filter((one) => one.step === last)
  if (before.length === 0) return undefined
  const ended = Math.max(...before.map(({ finishedAt }) => finishedAt?.getTime() ?? 0))
  return new Date(ended + before[0]!.delayAfter * 1000)
}

/** A run without any job that ran ends with a warning. */
function computeEndState(jobs: readonly RunJob[]): 'OK' | 'WARNING' | 'FAILED' {
  if (jobs.some(hasFailed)) return 'FAILED'
  return jobs.some(({ state }) => state === 'WARNING') || !jobs.some(hasRun) ? 'WARNING' : 'OK'
}
