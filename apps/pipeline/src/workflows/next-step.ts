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
  | { type: 'start' | 'skip'; jobs: Job[] }
  | { type: 'wait'; until?: Date }
  | { type: 'end'; state: 'OK' | 'WARNING' | 'FAILED' }

const hasFailed = ({ state }: RunJob) => state === 'FAILED' || state === 'CANCELLED'
const hasRun = ({ state }: RunJob) => state !== 'WAITING' && state !== 'SKIPPED'

/**
 * Returns the next action of a workflow run. Steps run one after another, each after the delay of the previous step.
 * The jobs of a step run one after another, or all at once if the step is PARALLEL. This is a pure function, so that
 * tests can try every order of events.
 */
export function chooseNextAction<Job extends RunJob>(
  jobs: readonly Job[],
  strategy: ErrorStrategy,
  now: Date,
): NextAction<Job> {
  const waitingJobs = jobs.filter(({ state }) => state === 'WAITING')
  const runningJobs = jobs.filter(({ state }) => state === 'RUNNING')
  if (waitingJobs.length === 0)
    return runningJobs.length > 0 ? { type: 'wait' } : { type: 'end', state: computeEndState(jobs) }
  if (strategy === 'STOP' && jobs.some(hasFailed)) return { type: 'skip', jobs: waitingJobs }

  const firstUnfinishedStep = Math.min(...[...waitingJobs, ...runningJobs].map(({ step }) => step))
  const waitingInStep = waitingJobs
    .filter(({ step }) => step === firstUnfinishedStep)
    .toSorted((one, other) => one.job - other.job)
  const [firstJob] = waitingInStep
  // If no job of the step is waiting, wait for its running jobs.
  if (!firstJob) return { type: 'wait' }
  const hasStepStarted = jobs.some((job) => job.step === firstUnfinishedStep && hasRun(job))
  const stepStart = hasStepStarted ? undefined : computeStepStart(jobs, firstUnfinishedStep)
  if (stepStart && stepStart > now) return { type: 'wait', until: stepStart }
  if (firstJob.executionMode === 'PARALLEL') return { type: 'start', jobs: waitingInStep }
  if (runningJobs.length > 0) return { type: 'wait' }
  return { type: 'start', jobs: [firstJob] }
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
  const hasWarning = jobs.some(({ state }) => state === 'WARNING')
  const hasRunNoJob = !jobs.some(hasRun)
  return hasWarning || hasRunNoJob ? 'WARNING' : 'OK'
}
