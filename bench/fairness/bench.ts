import { quantile } from '../statistics.ts'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { runStep } from '../../infra/compose-smoke/run-step.ts'
import { root } from '../../infra/paths.ts'
import { reportFailure } from '../../infra/user-error.ts'
import { startInstallation } from '../load/installation.ts'
import { attacks, type Statuses } from './attacks.ts'
import { downloadAttacks } from './download-attacks.ts'
import { createOrganisation } from './bench-organisation.ts'
import { readerAttacks } from './reader-attacks.ts'
import { createVictim, type VictimMeasurements, measureVictim } from './victim.ts'

/**
 * `npm run bench:fairness [-- options]`: measures organisation B while organisation A exhausts a resource. See
 * README.md.
 */

const allAttacks = { ...attacks, ...downloadAttacks, ...readerAttacks }

const { values: options } = parseArgs({
  options: {
    /** Writes the report to bench/results/fairness.md. */
    write: { type: 'boolean', default: false },
    /** Names of attacks, separated by commas. */
    only: { type: 'string', default: Object.keys(allAttacks).join(',') },
    rounds: { type: 'string', default: '3' },
    /** Seconds of one round. */
    seconds: { type: 'string', default: '20' },
  },
})

const mergeMeasurements = (all: readonly VictimMeasurements[]): VictimMeasurements => ({
  latencies: all.flatMap(({ latencies }) => latencies),
  errors: all.reduce((sum, { errors }) => sum + errors, 0),
  startDelays: all.flatMap(({ startDelays }) => startDelays),
  smallLoads: all.flatMap(({ smallLoads }) => smallLoads),
  loadRates: all.flatMap(({ loadRates }) => loadRates),
})

const head = [
  'attack',
  'p95, ms (limit)',
  '5xx for B',
  'start of a run, ms (5,000)',
  'load of a row, ms (limit)',
  'load, of idle (0.40)',
  'statuses of A',
  'met',
]

function tableRow(
  name: string,
  idle: VictimMeasurements,
  disturbed: VictimMeasurements,
  statuses: Statuses,
  refused: boolean,
): string[] {
  const limit = Math.max(5 * quantile(idle.latencies, 0.95), 250)
  const p95 = quantile(disturbed.latencies, 0.95)
  const start = Math.max(...disturbed.startDelays)
  const [smallLimit, small] = [Math.max(5 * quantile(idle.smallLoads, 0.5), 2_000), quantile(disturbed.smallLoads, 0.5)]
  const share = quantile(disturbed.loadRates, 0.5) / quantile(idle.loadRates, 0.5)
  const wasThrottled = (statuses.get(429) ?? 0) + (statuses.get(503) ?? 0) > 0
  const isServed = disturbed.errors === 0 && start <= 5_000 && small <= smallLimit
  const met = p95 <= limit && isServed && share >= 0.4 && (wasThrottled || !refused)
  const statusCounts = [...statuses]
    .toSorted(([a], [b]) => a - b)
    .map(([status, count]) => `${status || 'gone'} × ${count}`)
  return [
    name,
    `${Math.round(p95)} (${Math.round(limit)})`,
    String(disturbed.errors),
    String(Math.round(start)),
    `${Math.round(small)} (${Math.round(smallLimit)})`,
    share.toFixed(2),
    statusCounts.join(', '),
    met ? 'yes' : '**no**',
  ]
}

const attackerScript = join(import.meta.dirname, 'attacker.ts')

/**
 * In production, clients run on other machines. Here they only use processor time that the installation leaves idle.
 */
const withLowestPriority = { execPath: 'nice', execArgv: ['-n', '19', process.execPath] }

async function runBench(): Promise<void> {
  await using resources = new AsyncDisposableStack()
  const installation = resources.use(await runStep('Sluice is ready', startInstallation))
  const attacker = resources.use(await createOrganisation(installation))
  const organisation = resources.use(await createOrganisation(installation))
  const victim = await runStep('create the data of B', () => createVictim(organisation))
  const [rounds, seconds] = [Number(options.rounds), Number(options.seconds)]

  const measure = async () =>
    mergeMeasurements(await repeat(rounds, () => measureVictim(organisation, victim, seconds)))
  const idle = await runStep('measure B without attack', measure)
  const lines = [head, head.map(() => '---')]
  for (const name of options.only.split(',')) {
    const { description, expectsRefusals } = allAttacks[name]!
    const clients = fork(attackerScript, [name, JSON.stringify(attacker.login)], withLowestPriority)
    resources.defer(() => void clients.kill())
    await once(clients, 'message')
    await sleep(2_000)
    const disturbed = await runStep(description, measure)
    clients.send('end')
    const [counts] = (await once(clients, 'message')) as [[number, number][]]
    const statuses: Statuses = new Map(counts)
    lines.push(tableRow(name, idle, disturbed, statuses, expectsRefusals))
    // Lets the queries of this attack end before the next attack starts.
    await sleep(5_000)
  }
  const table = lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
  const baseline = `Without attack: p95 ${Math.round(quantile(idle.latencies, 0.95))} ms, a load of 20 MB at ${Math.round(quantile(idle.loadRates, 0.5) / 1e6)} MB/s.`
  const report = `# Fairness\n\n${cpus().length} cores, ${rounds} rounds of ${seconds} s. ${baseline}\n\n${table}\n`
  console.log(report)
  if (!options.write) return
  await writeFile(join(root, 'bench/results/fairness.md'), report)
}

async function repeat<T>(times: number, one: () => Promise<T>): Promise<T[]> {
  const all: T[] = []
  for (let time = 0; time < times; time += 1) all.push(await one())
  return all
}

await runBench().catch(reportFailure)
