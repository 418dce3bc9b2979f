import { setTimeout as sleep } from 'node:timers/promises'
import { deepStrictEqual } from 'node:assert'
import { adminPassword, type StartedCheckout } from './start-checkout.ts'
import type { TokenServer } from './token-protected-function.ts'

/** The ids and figures of the data that the older version created in the installation. */
export interface SeededInstallation {
  apiToken: string
  small: string
  large: string
  largeRun: string
  largeRows: number
  view: string
  check: string
  secret: string
  scheduled: string
  scheduledRuns: number
}

const smallRows = 'facility,visits,day\n007,120,2026-01-31\n008,,2026-02-28\n'
const largeRows = 3_000_000

/** Milliseconds. */
const runTimeoutMs = 180_000

/** Creates data in a new installation. Returns while a large load is running. */
export async function seedInstallation(
  { identity, pipeline }: StartedCheckout,
  server: TokenServer,
): Promise<SeededInstallation> {
  const expires = new Date(Date.now() + 30 * 24 * 60 * 60_000).toISOString()
  const { token: apiToken } = await identity('/users/me/api-tokens', {
    body: { name: 'upgrade', roles: ['ROLE_SEE_DATA_PIPELINE'], expires, password: adminPassword },
  })
  const schema = await pipeline('/schemas', {
    body: { name: 'upgrade', permanent: false, providerSchema: 'SQL_DATABASE_D' },
  })
  const create = async (body: object): Promise<string> => {
    const target = { disabled: false, runTrigger: 'NEVER', dataWarehouseTarget: { schema: { id: schema.id } } }
    return (await pipeline('/data-pipelines', { body: { ...target, ...body } })).id
  }
  const small = await create({ name: 'small', type: 'CSV_UPLOAD' })
  await loadFile(pipeline, small, smallRows)

  const functionSource = { url: server.url, authToken: server.token }
  const secret = await create({ name: 'secret', type: 'FUNCTION', functionSource, payload: {} })
  await waitForRunEnd(pipeline, secret, await startRun(pipeline, secret))
  const scheduled = await create({
    name: 'scheduled',
    type: 'FUNCTION',
    functionSource,
    payload: {},
    runTrigger: 'CUSTOM',
    cronExpression: '* * * * *',
  })

  const view = await pipeline('/views', {
    body: {
      name: 'by facility',
      schema: { id: schema.id },
      query: 'select facility, sum(visits) as visits from small group by facility order by facility',
      materialized: true,
      disabled: false,
      runTrigger: 'NEVER',
    },
  })
  const check = await pipeline('/data-quality-checks', {
    body: {
      name: 'no visits',
      shortName: 'no visits',
      code: 'NONE',
      query: 'select * from small where visits is null',
    },
  })
  await pipeline('/variables', { body: { name: 'PASSWORD', value: 'secret of a variable', secured: true } })

  const large = await create({ name: 'large', type: 'CSV_UPLOAD' })
  await loadFile(pipeline, large, 'id,text\n1,before\n')
  await upload(pipeline, large, generateLargeFile())
  const largeRun = await startRun(pipeline, large)
  await waitForRunStart(pipeline, large, largeRun)
  const scheduledRuns = (await pipeline(`/data-pipelines/${scheduled}/runs?pageSize=100`)).length
  const ids = { small, large, largeRun, view: view.id, check: check.id, secret, scheduled }
  return { apiToken, ...ids, largeRows, scheduledRuns }
}

/** Yields a sentence for each feature that still works. Throws if one does not. */
export async function* assertSeedKept(
  { pipeline }: StartedCheckout,
  server: TokenServer,
  seeded: SeededInstallation,
): AsyncGenerator<string> {
  const found = await pipeline('/data-pipelines?pageSize=100', { token: seeded.apiToken })
  deepStrictEqual(found.length, 4)
  yield 'the old password and the old API token are accepted'

  const { rows } = await pipeline(`/data-pipelines/${seeded.small}/data`)
  deepStrictEqual(rows, [
    ['007', 120, '2026-01-31'],
    ['008', null, '2026-02-28'],
  ])
  deepStrictEqual((await pipeline(`/views/${seeded.view}/data`)).rows.length, 2)
  yield 'the loaded table and the view have their rows'

  const interrupted = await waitForRunEnd(pipeline, seeded.large, seeded.largeRun)
  deepStrictEqual(interrupted.status, 'OK')
  deepStrictEqual((await pipeline(`/data-pipelines/${seeded.large}/table`)).rowCount, seeded.largeRows)
  yield 'the load that was killed has ended, with every row once'

  await loadFile(pipeline, seeded.small, `${smallRows}009,7,2026-03-31\n`)
  const refresh = await pipeline(`/views/${seeded.view}/run`, { method: 'POST' })
  await waitForRunEnd(pipeline, seeded.view, refresh.data.taskId, 'views')
  deepStrictEqual((await pipeline(`/views/${seeded.view}/data`)).rows.length, 3)
  const checked = await pipeline(`/data-quality-checks/${seeded.check}/run`, { body: {} })
  deepStrictEqual(checked.status, 'FAILED')
  yield 'the table is loaded again, the view is refreshed, and the check finds its row'

  const run = await waitForRunEnd(pipeline, seeded.secret, await startRun(pipeline, seeded.secret))
  deepStrictEqual(run.status, 'OK')
  yield `the stored token is accepted by ${new URL(server.url).host}`

  const end = Date.now() + runTimeoutMs
  while ((await pipeline(`/data-pipelines/${seeded.scheduled}/runs?pageSize=100`)).length <= seeded.scheduledRuns) {
    if (Date.now() > end) throw new Error('The schedule started no run.')
    await sleep(1_000)
  }
  yield 'the schedule starts runs'
}

type Api = StartedCheckout['pipeline']

const upload = (pipeline: Api, uid: string, body: string): Promise<unknown> =>
  pipeline(`/data-pipelines/${uid}/file?name=rows.csv`, { body, type: 'text/csv' })

async function startRun(pipeline: Api, uid: string): Promise<string> {
  return (await pipeline(`/data-pipelines/${uid}/run`, { method: 'POST' })).data.taskId
}

async function loadFile(pipeline: Api, uid: string, body: string): Promise<void> {
  await upload(pipeline, uid, body)
  const run = await waitForRunEnd(pipeline, uid, await startRun(pipeline, uid))
  if (run.status !== 'OK') throw new Error(`The load ended with ${run.status}: ${run.message}`)
}

async function findRun(pipeline: Api, uid: string, taskId: string, noun = 'data-pipelines') {
  const runs: { taskId: string; status: string; message?: string; finished?: string; rowsRead?: number }[] =
    await pipeline(`/${noun}/${uid}/runs?pageSize=50`)
  return runs.find((run) => run.taskId === taskId)
}

async function waitForRunEnd(pipeline: Api, uid: string, taskId: string, noun?: string) {
  for (const end = Date.now() + runTimeoutMs; Date.now() < end; await sleep(200)) {
    const run = await findRun(pipeline, uid, taskId, noun)
    if (run?.finished) return run
  }
  throw new Error(`The run ${taskId} did not finish within ${runTimeoutMs / 1000} s.`)
}

async function waitForRunStart(pipeline: Api, uid: string, taskId: string): Promise<void> {
  for (const end = Date.now() + runTimeoutMs; Date.now() < end; await sleep(20)) {
    const run = await findRun(pipeline, uid, taskId)
    if (run?.finished) throw new Error('The large load ended before it was killed. Use a larger one.')
    if (run?.status === 'RUNNING') return sleep(300)
  }
  throw new Error('The large load did not start.')
}

const generateLargeFile = (): string =>
  `id,text\n${Array.from({ length: largeRows }, (_, index) => `${index},row number ${index}`).join('\n')}\n`
