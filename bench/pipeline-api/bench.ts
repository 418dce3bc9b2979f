import { availableParallelism, totalmem } from 'node:os'
import { isMet } from '../load/markdown-report.ts'
import type { MeasureReport, BenchContext } from './measures/measure.ts'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runStep } from '../../infra/compose-smoke/run-step.ts'
import { root } from '../../infra/paths.ts'
import { reportFailure } from '../../infra/user-error.ts'
import { startInstallation } from '../load/installation.ts'
import { atScale } from './measures/requests-at-scale.ts'
import { dueSchedules } from './measures/due-schedules.ts'
import { neighbours } from './measures/noisy-neighbours.ts'

/** `npm run bench:pipeline-api [-- options]`: measures requests and schedules with very many objects. See README.md. */

const { values: options } = parseArgs({
  options: {
    /** Writes the report to bench/results/pipeline-api.md. */
    write: { type: 'boolean', default: false },
    /** Names of measures, separated by commas. */
    only: { type: 'string', default: 'at-scale,due-schedules,neighbours' },
    pipelines: { type: 'string', default: '100000' },
    runs: { type: 'string', default: '10000000' },
    logs: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '3' },
  },
})

const measures: Record<string, (context: BenchContext) => AsyncGenerator<MeasureReport>> = {
  'at-scale': atScale,
  'due-schedules': dueSchedules,
  neighbours,
}

async function runBench(): Promise<void> {
  await using installation = await runStep('Sluice is ready', startInstallation)
  const context: BenchContext = {
    installation,
    large: { pipelines: Number(options.pipelines), runs: Number(options.runs), logs: Number(options.logs) },
    rounds: Number(options.rounds),
  }
  const reports: string[] = []
  for (const name of options.only.split(','))
    for await (const report of measures[name]!(context)) {
      reports.push(markdown(report))
      console.log(reports.at(-1))
    }
  if (!options.write) return
  await writeFile(join(root, 'bench/results/pipeline-api.md'), heading(context.rounds) + reports.join('\n'))
}

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`

/** Returns a section as Markdown: a table and its targets. */
function markdown({ title, head, rows, targets }: MeasureReport): string {
  const table = [
    line(head),
    line(head.map((_, column) => (column === 0 ? '---' : '---:'))),
    ...rows.map((row) => line(row.map((cell) => (typeof cell === 'number' ? cell.toFixed(2) : cell)))),
  ]
  const targetLines = targets.map(
    (target) =>
      `- ${target.text}: ${target.value.toFixed(2)} ${target.unit}, wanted ≤ ${target.limit} ${target.unit}: ${isMet(target) ? 'met' : '**missed**'}`,
  )
  return [`## ${title}`, '', ...table, '', ...targetLines, ''].join('\n')
}

const heading = (rounds: number): string => `# Pipeline service with many objects

${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB of memory, Node ${process.versions.node}; services, worker and PostgreSQL on the same cores, as
\`npm start\` sets them up. ${rounds} rounds.

`

await runBench().catch(reportFailure)
