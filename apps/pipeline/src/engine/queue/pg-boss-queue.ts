import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Logger, StartProblem } from '@sluice/process'
import type { Kysely, Transaction } from 'kysely'
import { type Db, fromKysely, type Job, type KyselyTransactionLike, PgBoss } from 'pg-boss'
import type { DB } from '../../database.ts'
import type { Delivery, JobQueue, QueuedRun, WorkerQueue } from './job-queue.ts'

const schema = 'pgboss'
const queue = 'runs'

/** Before 12.35 a worker that was stopped and woke up could end another worker's attempt. */
const oldest = [12, 35] as const

interface RunJob {
  run: string
}

const options = (heartbeatSeconds: number) => ({
  heartbeatSeconds,
  // The longest that pg-boss allows.
  expireInSeconds: 24 * 3600,
  // How often a run is tried is counted in its row; these are for workers that die, and for a database that is away.
  retryLimit: 100,
  retryDelay: 1,
  retryBackoff: true,
  retryDelayMax: 60,
  deleteAfterSeconds: 3600,
  notify: true,
})

/** Creates or updates the queue's own tables. Waits for index builds that an upgrade starts. Safe to repeat. */
export async function migrateQueue(connectionString: string, { heartbeatSeconds = 30 } = {}): Promise<void> {
  refuseOldVersions()
  const boss = new PgBoss({ connectionString, schema, max: 2, supervise: false, schedule: false })
  let failure: Error | undefined
  boss.on('error', (error) => (failure ??= error))
  await boss.start()
  try {
    if (await boss.getQueue(queue)) await boss.updateQueue(queue, options(heartbeatSeconds))
    else await boss.createQueue(queue, { policy: 'exclusive', ...options(heartbeatSeconds) })
    while ((await boss.getBamStatus()).some(({ status }) => status === 'pending' || status === 'in_progress')) {
      if (failure) throw failure
      await sleep(500)
    }
  } finally {
    await boss.stop({ graceful: false })
  }
}

/** For a process that only queues runs: no connections and no maintenance of its own. */
export async function openQueue(db: Kysely<DB>, logger: Logger): Promise<JobQueue> {
  const boss = new PgBoss({ db: joining(db), schema, migrate: false, supervise: false, schedule: false })
  await begin(boss, logger)
  return port(boss)
}

export interface WorkerQueueOptions {
  connectionString: string
  /** Runs at once in this worker. */
  concurrency: number
  /** Runs at once of one client, in all workers; more for moments, when workers look at the same time. */
  clientConcurrency: number
  /** A worker that was silent for so long is taken for dead. 10 at least; everybody's newest choice holds for new runs. */
  heartbeatSeconds?: number
  logger: Logger
}

/** For a worker: takes runs within milliseconds of their commit, and watches over the runs of workers that die. */
export async function openWorkerQueue({ heartbeatSeconds = 30, ...given }: WorkerQueueOptions): Promise<WorkerQueue> {
  const { connectionString, concurrency, clientConcurrency, logger } = given
  const watch = Math.max(2, Math.floor(heartbeatSeconds / 3))
  const boss = new PgBoss({
    connectionString,
    schema,
    application_name: 'sluice queue',
    max: 3,
    migrate: false,
    schedule: false,
    useListenNotify: true,
    superviseIntervalSeconds: watch,
    monitorIntervalSeconds: watch,
  })
  await begin(boss, logger)
  await boss.updateQueue(queue, options(heartbeatSeconds))

  return {
    ...port(boss),
    async work(handle) {
      const taking = {
        localConcurrency: concurrency,
        groupConcurrency: clientConcurrency,
        pollingIntervalSeconds: 1,
        // A run that waits for its client's turn, or for its time, is found by looking: nobody announces it.
        notifyPollingIntervalSeconds: 2,
      }
      await boss.work<RunJob>(queue, taking, async ([job]) => handle(delivery(boss, job!)))
    },
    stopTaking: () => boss.offWork(queue, { wait: false }),
  }
}

function port(boss: PgBoss): JobQueue {
  return {
    async send(trx, { uid, client }) {
      await boss.send(queue, { run: uid }, { ...identified(uid, client), db: joining(trx) })
    },
    async sendMissing(db, runs) {
      const jobs = runs.map(({ uid, client }) => ({ data: { run: uid }, ...identified(uid, client) }))
      const sent = await boss.insert(queue, jobs, { db: joining(db), returnId: true })
      return sent?.length ?? 0
    },
    async check() {
      if (!(await boss.getQueue(queue))) throw new Error('The queue is gone.')
    },
    [Symbol.asyncDispose]: () => boss.stop({ graceful: true, timeout: 2_000 }),
  }
}

/** The queue's policy allows one waiting or active job per key. */
function identified(run: QueuedRun['uid'], client: QueuedRun['client']) {
  return { singletonKey: run, group: { id: client } }
}

function delivery(boss: PgBoss, { id, retryCount, data, signal, groupId }: Job<RunJob>): Delivery {
  return {
    run: data.run,
    client: groupId!,
    signal,
    async again(trx, afterSeconds) {
      const db = joining(trx)
      // Named with its retry count, it is only completed while it is still this worker's.
      const { affected } = (await boss.complete(queue, { id, retryCount }, null, { db })) as { affected: number }
      if (affected === 0) return false
      await boss.send(queue, data, { ...identified(data.run, groupId!), startAfter: afterSeconds, db })
      return true
    },
  }
}

async function begin(boss: PgBoss, logger: Logger): Promise<void> {
  refuseOldVersions()
  boss.on(
    'error',
    sparingly(({ message }) => logger.warn({ reason: message }, 'the queue reports an error')),
  )
  boss.on('warning', ({ message, data }) => logger.warn({ data }, message))
  try {
    await boss.start()
    if (!(await boss.getQueue(queue))) throw new Error('the queue is missing')
  } catch (error) {
    await boss.stop({ graceful: false })
    if (/not installed|migrat|version|the queue is missing/i.test((error as Error).message))
      throw new StartProblem(
        `The pipeline database is not ready for the queue (${(error as Error).message}): run the migrations first.`,
        { cause: error },
      )
    throw error
  }
}

/** While the database is away every look at the queue fails alike: one line in ten seconds says it. */
function sparingly(tell: (error: Error) => void): (error: Error) => void {
  let last = 0
  return (error) => {
    if (Date.now() - last < 10_000) return
    last = Date.now()
    tell(error)
  }
}

function refuseOldVersions(): void {
  const { version } = createRequire(import.meta.url)('pg-boss/package.json') as { version: string }
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > oldest[0] || (major === oldest[0] && minor >= oldest[1])) return
  throw new StartProblem(
    `pg-boss ${version} is installed, but before ${oldest.join('.')} it lets two workers share a run: install the version that package.json names.`,
  )
}

function joining(db: Kysely<DB> | Transaction<DB>): Db {
  return fromKysely(db as unknown as KyselyTransactionLike)
}
