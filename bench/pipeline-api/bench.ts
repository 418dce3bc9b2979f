import { mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { step } from '../../infra/compose-smoke/step.ts'
import { root } from '../../infra/paths.ts'
import { refuse } from '../../infra/refusal.ts'
import { startInstallation } from '../load/installation.ts'
import { atScale } from './measures/at-scale.ts'
import { dueSchedules } from './measures/due-schedules.ts'
import type { BenchContext, MeasureReport } from './measures/measure.ts'
import { neighbours } from './measures/neighbours.ts'
import { heading, markdown } from './report.ts'

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

async function bench(): Promise<void> {
  const folder = join(tmpdir(), `sluice-bench-api-${process.pid}`)
  await mkdir(folder)
  await using cleaned = new AsyncDisposableStack()
  cleaned.defer(() => rm(folder, { recursive: true, force: true }))
  const context: BenchContext = {
    installation: cleaned.use(await step('Sluice is up', () => startInstallation(folder))),
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
  const results = join(root, 'bench/results')
  await mkdir(results, { recursive: true })
  await writeFile(join(results, 'pipeline-api.md'), heading(context.rounds) + reports.join('\n'))
}

await bench().catch(refuse)
