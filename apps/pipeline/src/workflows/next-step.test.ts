import { describe, expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import fc from 'fast-check'
import { type ErrorStrategy, chooseNextAction, type RunJob } from './next-step.ts'

type Outcome = 'OK' | 'WARNING' | 'FAILED' | 'CANCELLED'

interface Job extends RunJob {
  /** Of the object, which the machine does not know beforehand. */
  disabled: boolean
  outcome: Outcome
  /** The start of its run; undefined before that. */
  began?: number
  /** The run has ended, whether or not anybody noticed. */
  over?: boolean
  starts: number
}

/** What is kept in the database. A transaction changes a copy, which takes its place or not. */
interface World {
  jobs: Job[]
  strategy: ErrorStrategy
  clock: number
  end?: string
}

const outcomes = fc.oneof(
  { weight: 5, arbitrary: fc.constant<Outcome>('OK') },
  { weight: 1, arbitrary: fc.constantFrom<Outcome>('WARNING', 'FAILED', 'CANCELLED') },
)
const steps = fc.array(
  fc.record({
    executionMode: fc.constantFrom('SERIAL' as const, 'PARALLEL' as const),
    delayAfter: fc.integer({ min: 0, max: 3 }),
    disabled: fc.boolean(),
    jobs: fc.array(fc.record({ disabled: fc.integer({ max: 9, min: 0 }).map((one) => one === 0), outcome: outcomes }), {
      maxLength: 4,
    }),
  }),
  { maxLength: 5 },
)
const worlds = fc
  .record({ steps, strategy: fc.constantFrom<ErrorStrategy>('STOP', 'CONTINUE') })
  .map(({ steps, strategy }): World => {
    const jobs = steps.flatMap(({ jobs, disabled: off, ...step }, index) =>
      jobs.map((job, place): Job => {
        const state = off && index % 3 === 1 ? 'SKIPPED' : 'WAITING'
        return { ...step, ...job, step: index + 1, job: place + 1, state, finishedAt: null, starts: 0 }
      }),
    )
    return { jobs, strategy, clock: 0 }
  })
/** What happens, and whether its transaction commits. */
const happenings = fc.array(
  fc.record({
    what: fc.constantFrom('look' as const, 'end' as const, 'end unseen' as const, 'time' as const),
    which: fc.nat(9),
    commits: fc.integer({ min: 0, max: 3 }).map((one) => one > 0),
  }),
  { maxLength: 120 },
)

const terminal = (job: Job) => job.state !== 'WAITING' && job.state !== 'RUNNING'
const wrong = (job: Job) => job.state === 'FAILED' || job.state === 'CANCELLED'

/** What `advance` does: settles what ended, then acts until there is nothing to do. */
function advance(world: World): void {
  for (let turns = 0; world.end === undefined; turns += 1) {
    expect(turns).toBeLessThan(100)
    for (const job of world.jobs)
      if (job.state === 'RUNNING' && job.over)
        Object.assign(job, { state: job.outcome, finishedAt: new Date(world.clock * 1000) })
    const next = chooseNextAction(world.jobs, world.strategy, new Date(world.clock * 1000))
    if (next.type === 'wait') return
    if (next.type === 'end') world.end = next.state
    else if (next.type === 'skip') for (const job of next.jobs) job.state = 'SKIPPED'
    else for (const job of next.jobs) start(world, job)
  }
}

function start(world: World, job: Job): void {
  const { jobs, strategy, clock } = world
  expect(job.state).toBe('WAITING')
  expect(jobs.filter((one) => one.step < job.step).every(terminal)).toBe(true)
  if (job.executionMode === 'SERIAL')
    expect(jobs.filter((one) => one.step === job.step && one.job < job.job).every(terminal)).toBe(true)
  if (strategy === 'STOP') expect(jobs.some(wrong)).toBe(false)
  const ran = jobs.filter((one) => one.step < job.step && one.starts > 0)
  const last = ran.filter((one) => one.step === Math.max(...ran.map(({ step }) => step)))
  for (const one of last) expect(clock * 1000).toBeGreaterThanOrEqual(one.finishedAt!.getTime() + one.delayAfter * 1000)
  if (job.disabled) job.state = 'SKIPPED'
  else Object.assign(job, { state: 'RUNNING', began: clock, starts: job.starts + 1 })
}

function happen(world: World, what: 'look' | 'end' | 'end unseen' | 'time', which: number): void {
  if (what === 'time') world.clock += 1
  const running = world.jobs.filter((job) => job.state === 'RUNNING' && !job.over)
  if (what.startsWith('end') && running.length > 0) running[which % running.length]!.over = true
  if (what !== 'end unseen') advance(world)
}

function live(
  world: World,
  events: readonly { what: 'look' | 'end' | 'end unseen' | 'time'; which: number; commits: boolean }[],
) {
  let kept = world
  for (const { what, which, commits } of events) {
    const copy = structuredClone(kept)
    happen(copy, what, which)
    if (commits) kept = copy
  }
  // Then nothing goes wrong any more.
  for (let turns = 0; kept.end === undefined; turns += 1) {
    expect(turns).toBeLessThan(200)
    happen(kept, turns % 2 ? 'end' : 'time', turns)
  }
  return kept
}

describe('workflow steps', () => {
  it('run each job at most once and in order when ends, lost transactions and repeated checks are mixed', () => {
    fc.assert(
      fc.property(worlds, happenings, (world, events) => {
        const before = structuredClone(world)
        const { jobs, strategy, end } = live(world, events)
        for (const [index, job] of jobs.entries()) {
          expect(terminal(job)).toBe(true)
          expect(job.starts).toBe(job.state === 'SKIPPED' ? 0 : 1)
          if (job.starts > 0) expect(job.state).toBe(job.outcome)
          const wanted = before.jobs[index]!.state === 'WAITING' && !job.disabled
          if (strategy === 'CONTINUE' || !jobs.some(wrong)) expect(job.starts > 0).toBe(wanted)
        }
        if (strategy === 'STOP' && jobs.some(wrong)) {
          const first = Math.min(...jobs.filter(wrong).map(({ step }) => step))
          expect(jobs.filter((job) => job.step > first).every(({ state }) => state === 'SKIPPED')).toBe(true)
          const serial = jobs.filter((job) => job.step === first && job.executionMode === 'SERIAL')
          const place = serial.findIndex(wrong)
          expect(serial.slice(place + 1).every(({ state }) => state === 'SKIPPED')).toBe(true)
        }
        const expected = jobs.some(wrong)
          ? 'FAILED'
          : jobs.every(({ starts }) => starts === 0) || jobs.some(({ state }) => state === 'WARNING')
            ? 'WARNING'
            : 'OK'
        expect(end).toBe(expected)
      }),
      { numRuns: drawCount({ short: 300, long: 20_000 }) },
    )
  })

  it('start all jobs of a parallel step at once, and only the first job of a serial step', () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const next = chooseNextAction(world.jobs, world.strategy, new Date(0))
        const waiting = world.jobs.filter(({ state }) => state === 'WAITING')
        const first = waiting.filter(({ step }) => step === waiting[0]?.step)
        if (next.type !== 'start') return expect([next.type, waiting.length]).toEqual(['end', 0])
        return expect(next.jobs).toEqual(first[0]!.executionMode === 'PARALLEL' ? first : first.slice(0, 1))
      }),
    )
  })

  it('wait for the delay after a step, also across skipped steps', () => {
    const job = (step: number, state: RunJob['state'], finishedAt: Date | null): RunJob => ({
      step,
      job: 1,
      executionMode: 'SERIAL',
      delayAfter: step * 10,
      state,
      finishedAt,
    })
    const jobs = [job(1, 'OK', new Date(5_000)), job(2, 'SKIPPED', null), job(3, 'WAITING', null)]
    expect(chooseNextAction(jobs, 'STOP', new Date(14_999))).toEqual({ type: 'wait', until: new Date(15_000) })
    expect(chooseNextAction(jobs, 'STOP', new Date(15_000))).toEqual({ type: 'start', jobs: [jobs[2]] })
  })
})
