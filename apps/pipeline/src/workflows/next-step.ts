/** The states of a job. SKIPPED: its object is disabled or deleted, or an earlier job failed. */
export const jobStates = ['WAITING', 'RUNNING', 'OK', 'WARNING', 'FAILED', 'CANCELLED', 'SKIPPED'] as const
export type JobState = (typeof jobStates)[number]

/** The reaction to a failed job. STOP: skip the waiting jobs. CONTINUE: run them. */
export type ErrorStrategy = 'STOP' | 'CONTINUE'

/** A job of a workflow run, with the settings of its step. */
export interface RunJob {
  step: number
  job: number
  executionMode: 'SERIAL' | 'PARALLEL'
  /** Seconds between the end of the job's step and the start of the next step. */
  delayAfter: number
  state: JobState
  finishedAt: Date | null
}

/** The next action of a workflow run. Without `until`, `wait` waits for the running jobs. */
export type NextAction<Job extends RunJob> =
  | { act: 'start' | 'skip'; jobs: Job[] }
  | { act: 'wait'; until?: Date }
  | { act: 'end'; state: 'OK' | 'WARNING' | 'FAILED' }

const hasFailed = ({ state }: RunJob) => state === 'FAILED' || state === 'CANCELLED'
const hasRun = ({ state }: RunJob) => state !== 'WAITING' && state !== 'SKIPPED'

/** Returns the next action. It is a pure function, so that tests can try every order of events. */
export function chooseNextAction<Job extends RunJob>(
  jobs: readonly Job[],
  strategy: ErrorStrategy,
  now: Date,
): NextAction<Job> {
  const waitingJobs = jobs.filter(({ state }) => state === 'WAITING')
  const runningJobs = jobs.filter(({ state }) => state === 'RUNNING')
  if (waitingJobs.length === 0)
    return runningJobs.length > 0 ? { act: 'wait' } : { act: 'end', state: computeEndState(jobs) }
  if (strategy === 'STOP' && jobs.some(hasFailed)) return { act: 'skip', jobs: waitingJobs }

  const step = Math.min(...[...waitingJobs, ...runningJobs].map((job) => job.step))
  const waitingInStep = waitingJobs.filter((job) => job.step === step).toSorted((a, b) => a.job - b.job)
  if (waitingInStep.length === 0) return { act: 'wait' }
  const hasStarted = jobs.some((job) => job.step === step && hasRun(job))
  const stepStart = hasStarted ? undefined : computeStepStart(jobs, step)
  if (stepStart && stepStart > now) return { act: 'wait', until: stepStart }
  const firstJob = waitingInStep[0]!
  if (firstJob.executionMode === 'PARALLEL') return { act: 'start', jobs: waitingInStep }
  if (runningJobs.length > 0) return { act: 'wait' }
  return { act: 'start', jobs: [firstJob] }
}

/**
 * Returns the earliest start of a step: the end of the last step that ran, plus its delay. Returns undefined if no step
 * has run.
 */
function computeStepStart(jobs: readonly RunJob[], step: number): Date | undefined {
  const earlierJobs = jobs.filter((job) => job.step < step && hasRun(job))
  const lastStep = Math.max(...earlierJobs.map((job) => job.step))
  const jobsOfLastStep = earlierJobs.filter((job) => job.step === lastStep)
  if (jobsOfLastStep.length === 0) return undefined
  const endedAt = Math.max(...jobsOfLastStep.map(({ finishedAt }) => finishedAt?.getTime() ?? 0))
  return new Date(endedAt + jobsOfLastStep[0]!.delayAfter * 1000)
}

/** Returns the final state of a workflow run. If no job ran, the state is WARNING. */
function computeEndState(jobs: readonly RunJob[]): 'OK' | 'WARNING' | 'FAILED' {
  if (jobs.some(hasFailed)) return 'FAILED'
  return jobs.some(({ state }) => state === 'WARNING') || !jobs.some(hasRun) ? 'WARNING' : 'OK'
}
