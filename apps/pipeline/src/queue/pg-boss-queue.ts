import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Logger, StartProblem } from '@sluice/process'
import type { Kysely, Transaction } from 'kysely'
import { type Db, fromKysely, type Job, type KyselyTransactionLike, PgBoss } from 'pg-boss'
import type { DB } from '../database.ts'
import type { Delivery, JobQueue, QueuedRun, WorkerQueue } from './job-queue.ts'
import { takeJobs } from './take-jobs.ts'

const pgBossSchema = 'pgboss'
const runQueueName = 'runs'

/**
 * The minimum version of pg-boss. In older versions, a worker that was suspended could end the attempt of another
 * worker.
 */
const minVersion = [12, 35] as const

interface RunJob {
  run: string
}

const queueOptions = (heartbeatSeconds: number) => ({
  heartbeatSeconds,
  // The maximum that pg-boss allows.
  expireInSeconds: 24 * 3600,
  // These retries are for crashed workers and an unavailable database. Attempts are limited by the count in the row of
  // the run.
  retryLimit: 100,
  retryDelay: 1,
  retryBackoff: true,
  retryDelayMax: 60,
  deleteAfterSeconds: 3600,
  notify: true,
})

/** Creates or updates the tables of the queue, and waits for index builds that an upgrade starts. Safe to repeat. */
export async function migrateQueue(connectionString: string, { heartbeatSeconds = 30 } = {}): Promise<void> {
  assertVersion()
  const boss = new PgBoss({ connectionString, schema: pgBossSchema, max: 2, supervise: false, schedule: false })
  let failure: Error | undefined
  boss.on('error', (error) => (failure ??= error))
  await boss.start()
  try {
    if (await boss.getQueue(runQueueName)) await boss.updateQueue(runQueueName, queueOptions(heartbeatSeconds))
    else await boss.createQueue(runQueueName, { policy: 'exclusive', ...queueOptions(heartbeatSeconds) })
    while (await hasUnfinishedIndexBuilds(boss)) {
      if (failure) throw failure
      await sleep(500)
    }
  } finally {
    await boss.stop({ graceful: false })
  }
}

/** Returns whether asynchronous migrations of pg-boss (BAM), which build indexes, have not ended yet. */
async function hasUnfinishedIndexBuilds(boss: PgBoss): Promise<boolean> {
  const migrations = await boss.getBamStatus()
  return migrations.some(({ status }) => status === 'pending' || status === 'in_progress')
}

/** Opens the queue for a process that only adds runs. It has no connections of its own and does no maintenance. */
export async function openQueue(db: Kysely<DB>, logger: Logger): Promise<JobQueue> {
  const boss = new PgBoss({
    db: transactionDb(db),
    schema: pgBossSchema,
    migrate: false,
    supervise: false,
    schedule: false,
  })
  await startBoss(boss, logger)
  return createJobQueue(boss)
}

export interface WorkerQueueOptions {
  connectionString: string
  /** The number of concurrent runs in this worker. */
  concurrency: number
  /**
   * The maximum number of concurrent runs of one organisation in all workers. Workers that poll at the same time can
   * briefly exceed it.
   */
  clientConcurrency: number
  /**
   * Seconds after which a worker without a heartbeat is considered dead, at least 10. The value of the worker that
   * started last applies to all.
   */
  heartbeatSeconds?: number
  /** Seconds between two polls. Default: 1. */
  pollSeconds?: number
  logger: Logger
}

/** Opens the queue for a worker. It delivers runs within milliseconds of their commit and detects crashed workers. */
export async function openWorkerQueue({ heartbeatSeconds = 30, ...rest }: WorkerQueueOptions): Promise<WorkerQueue> {
  const { connectionString, concurrency, clientConcurrency, pollSeconds = 1, logger } = rest
  const intervalSeconds = Math.max(2, Math.floor(heartbeatSeconds / 3))
  const boss = new PgBoss({
    connectionString,
    schema: pgBossSchema,
    application_name: 'sluice queue',
    // If a crash of the server loses a fetch or a completion, the job is delivered again, and the claim decides. Runs
    // are queued on other connections.
    options: '-c synchronous_commit=off',
    max: 3,
    migrate: false,
    schedule: false,
    useListenNotify: true,
    superviseIntervalSeconds: intervalSeconds,
    monitorIntervalSeconds: intervalSeconds,
  })
  await startBoss(boss, logger)
  await boss.updateQueue(runQueueName, queueOptions(heartbeatSeconds))

  let stopTaking = () => {}
  const jobQueue = createJobQueue(boss)
  return {
    ...jobQueue,
    async handleJobs(handle) {
      stopTaking = await takeJobs<RunJob>(boss, {
        queue: runQueueName,
        concurrency,
        deferralSeconds: pollSeconds,
        groupConcurrency: clientConcurrency,
        // Polls find runs without a notification: those that wait for a start time, or for the end of a run in another
        // worker.
        pollingIntervalSeconds: pollSeconds,
        notifyPollingIntervalSeconds: pollSeconds,
        handle: (job) => handle(toDelivery(boss, job)),
      })
    },
    async stopTaking() {
      stopTaking()
      await boss.offWork(runQueueName, { wait: false })
    },
    async [Symbol.asyncDispose]() {
      stopTaking()
      await jobQueue[Symbol.asyncDispose]()
    },
  }
}

function createJobQueue(boss: PgBoss): JobQueue {
  return {
    async send(trx, { uid, client }) {
      await boss.send(runQueueName, { run: uid }, { ...jobIdentity(uid, client), db: transactionDb(trx) })
    },
    async sendMissing(db, runs) {
      const jobs = runs.map(({ uid, client }) => ({ data: { run: uid }, ...jobIdentity(uid, client) }))
      const insertedIds = await boss.insert(runQueueName, jobs, { db: transactionDb(db), returnId: true })
      return insertedIds?.length ?? 0
    },
    async check() {
      if (!(await boss.getQueue(runQueueName))) throw new Error('The queue is gone.')
    },
    [Symbol.asyncDispose]: () => boss.stop({ graceful: true, timeout: 2_000 }),
  }
}

/** Returns the key and the group of a job. The policy of the queue allows one waiting or active job per key. */
function jobIdentity(run: QueuedRun['uid'], client: QueuedRun['client']) {
  return { singletonKey: run, group: { id: client } }
}

function toDelivery(boss: PgBoss, { id, retryCount, data, signal, groupId }: Job<RunJob>): Delivery {
  return {
    run: data.run,
    client: groupId!,
    signal,
    async requeue(trx, afterSeconds) {
      const db = transactionDb(trx)
      // pg-boss completes the job only if the retry count is unchanged, that is, if this worker still holds the job.
      const { affected } = (await boss.complete(runQueueName, { id, retryCount }, null, { db })) as { affected: number }
      if (affected === 0) return false
      await boss.send(runQueueName, data, { ...jobIdentity(data.run, groupId!), startAfter: afterSeconds, db })
      return true
    },
  }
}

/** Starts pg-boss. Throws `StartProblem` if the migrations of the queue have not run. */
async function startBoss(boss: PgBoss, logger: Logger): Promise<void> {
  assertVersion()
  boss.on(
    'error',
    throttleErrors(({ message }) => logger.warn({ reason: message }, 'the queue reports an error')),
  )
  boss.on('warning', ({ message, data }) => logger.warn({ data }, message))
  try {
    await boss.start()
    if (!(await boss.getQueue(runQueueName))) throw new Error('the queue is missing')
  } catch (error) {
    await boss.stop({ graceful: false })
    if (/not installed|migrat|version|the queue is missing/i.test((error as Error).message))
      throw new StartProblem(
        `The pipeline database is not ready for the queue (${(error as Error).message}). Run the migrations first.`,
        { cause: error },
      )
    throw error
  }
}

/**
 * Returns a function that reports at most one error in ten seconds, because every poll fails while the database is
 * unavailable.
 */
function throttleErrors(report: (error: Error) => void): (error: Error) => void {
  let lastReportMs = 0
  return (error) => {
    if (Date.now() - lastReportMs < 10_000) return
    lastReportMs = Date.now()
    report(error)
  }
}

function assertVersion(): void {
  const { version } = createRequire(import.meta.url)('pg-boss/package.json') as { version: string }
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isRecentEnough = major > minVersion[0] || (major === minVersion[0] && minor >= minVersion[1])
  if (isRecentEnough) return
  throw new StartProblem(
    `pg-boss ${version} is installed, but versions before ${minVersion.join('.')} can let two workers execute the same run. Install the version that package.json requires.`,
  )
}

function transactionDb(db: Kysely<DB> | Transaction<DB>): Db {
  return fromKysely(db as unknown as KyselyTransactionLike)
}
