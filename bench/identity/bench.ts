import { availableParallelism, totalmem, tmpdir } from 'node:os'
import { ratio, type Rounds } from './interleaved-rounds.ts'
import type { Row } from './measures/measure.ts'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runStep } from '../../infra/compose-smoke/run-step.ts'
import { reportFailure } from '../../infra/user-error.ts'
import { startTemporaryPostgres } from '../../infra/test/temporary-postgres.ts'
import { startGenerator } from './load/start-generator.ts'
import { session, sessionAmongClients } from './measures/session.ts'
import { clientCredentials, login, refresh } from './measures/tokens.ts'
import { createUser, searchUsers } from './measures/users.ts'
import { programs } from '../bundled-programs.ts'
import { startHandlers, startProvider } from './start-programs.ts'
import { createDatabase, startFilledService } from './filled-service.ts'

/** `npm run bench:identity [-- options]`: measures the identity service against bare implementations. See README.md. */

const { values: options } = parseArgs({
  options: {
    /** Writes the table to results.md. */
    write: { type: 'boolean', default: false },
    /** Names of measures, separated by commas. */
    only: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    /** Numbers of users of the one client, separated by commas, in ascending order. */
    sizes: { type: 'string', default: '1000,100000,1000000' },
    clients: { type: 'string', default: '10000' },
    /** Folder for CPU profiles of the services. */
    profile: { type: 'string' },
  },
})

const measures = { session, refresh, clientCredentials, login, createUser, sessionAmongClients, searchUsers }

async function runBench(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'))
  await using resources = new AsyncDisposableStack()
  resources.defer(() => rm(folder, { recursive: true, force: true }))
  await programs.ready()
  const cluster = resources.use(await startTemporaryPostgres())
  const selected = options.only?.split(',')
  const isSelected = (...names: string[]) => !selected || selected.some((name) => names.includes(name))

  const sizes = []
  for (const users of options.sizes
    .split(',')
    .map(Number)
    .slice(0, isSelected('searchUsers') ? undefined : 1))
    sizes.push(
      await runStep(`${users.toLocaleString('en')} users`, async () =>
        resources.use(await startFilledService(cluster, folder, { clients: 1, users }, options.profile)),
      ),
    )
  const small = sizes[0]!
  const size = { clients: isSelected('sessionAmongClients') ? Number(options.clients) : 2, users: small.size.users }
  const manyClients = await runStep(`${size.clients.toLocaleString('en')} clients`, async () =>
    resources.use(await startFilledService(cluster, folder, size)),
  )
  const handlers = resources.use(await startHandlers(folder, small.database))
  const provider = resources.use(await startProvider(folder, await createDatabase(cluster, 'provider')))
  const argon2 = fork(join(import.meta.dirname, 'baseline/argon2.ts'))
  resources.defer(() => void argon2.kill())
  await once(argon2, 'message')

  const context = {
    generator: resources.use(startGenerator()),
    rounds: { rounds: Number(options.rounds), seconds: Number(options.seconds) },
    small,
    sizes,
    manyClients,
    handlers: handlers.port,
    provider: provider.port,
    async checkPasswords(seconds: number): Promise<number> {
      argon2.send(seconds)
      const [rate] = (await once(argon2, 'message')) as [number]
      return rate
    },
  }
  const rows: Row[] = []
  for (const [name, measure] of Object.entries(measures))
    if (isSelected(name)) {
      const measured = await runStep(name, () => measure(context))
      for (const row of measured) console.log(`            ${rowSummary(row)}`)
      rows.push(...measured)
    }

  const text = table(rows, context.rounds)
  console.log(`\n${text}`)
  if (options.write) await writeFile(join(import.meta.dirname, 'results.md'), `# Identity performance\n\n${text}`)
}

const count = (value: number): string => Math.round(value).toLocaleString('en')
const milliseconds = (value: number): string => (Number.isNaN(value) ? '' : value.toFixed(value < 10 ? 1 : 0))

const head = ['measure', 'per s', 'p50 ms', 'p95 ms', 'against', 'per s', 'p95 ms', 'ratio', 'target', '']

const cells = ({ label, figures, against, target }: Row): string[] => [
  label,
  count(figures.rate),
  milliseconds(figures.p50),
  milliseconds(figures.p95),
  against?.name ?? '',
  against ? count(against.figures.rate) : '',
  against ? milliseconds(against.figures.p95) : '',
  against ? ratio(figures, against.figures).toFixed(2) : '',
  target?.text ?? '',
  target ? (target.met ? 'met' : '**missed**') : '',
]

/** Returns a row as one line of text. */
const rowSummary = (row: Row): string => cells(row).filter(Boolean).join(' · ')

/** Returns the results as a Markdown table with a description of the machine. */
function table(rows: Row[], { rounds, seconds }: Rounds): string {
  const line = (values: string[]) => `| ${values.join(' | ')} |`
  const rule = line(head.map((_name, index) => ([1, 2, 3, 5, 6, 7].includes(index) ? '---:' : '---')))
  return `${[line(head), rule, ...rows.map((row) => line(cells(row)))].join('\n')}

${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB of memory, Node ${process.versions.node}; one process of the service;
PostgreSQL and the load generator on the same cores. Medians of ${rounds} rounds of ${seconds} s (a sign-in: twice as many) in turns, ratios by round.
`
}

await runBench().catch(reportFailure)
