import { availableParallelism, totalmem } from 'node:os'
import type { MeasureReport, Target } from './measures/measure.ts'

const line = (cells: string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
const seconds = (milliseconds: number): string => (milliseconds / 1000).toFixed(2)

export const isMet = ({ value, limit }: Target): boolean => value <= limit

const formatValue = ({ value, unit }: Target): string => `${value.toFixed(unit === 'MiB' ? 0 : 2)} ${unit}`

/** Returns a section as Markdown: the figures, their ratios to the first one, and the targets. */
export function formatSection({ title, figures, bytes, targets }: MeasureReport): string {
  const [reference] = figures
  const rows = figures.map(({ name, milliseconds, fastest, slowest, memory, hasOtherRows }) =>
    line([
      hasOtherRows ? `${name} (other values)` : name,
      seconds(milliseconds),
      `${seconds(fastest)}–${seconds(slowest)}`,
      (milliseconds / reference!.milliseconds).toFixed(2),
      bytes ? (bytes / 1000 / milliseconds).toFixed(0) : '',
      memory ? memory.toFixed(0) : '',
    ]),
  )
  const table = reference
    ? [
        line(['tool', 's', 'from–to', `ratio to ${reference.name}`, 'MB/s', 'peak MiB']),
        line(['---', '---:', '---:', '---:', '---:', '---:']),
        ...rows,
        '',
      ]
    : []
  return [`## ${title}`, '', ...table, ...targets.map(formatTarget), ''].join('\n')
}

/** Returns a target as an item of a list: the value, the limit, and whether it is met. */
export const formatTarget = (target: Target): string =>
  `- ${target.text}: ${formatValue(target)}, wanted ≤ ${target.limit} ${target.unit}: ${isMet(target) ? 'met' : '**missed**'}`

export const formatHeading = (rounds: number, isBusy = false): string => `# Load performance

${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB of memory, Node ${process.versions.node}; PostgreSQL on the same cores, as \`npm start\` sets it up,
durable.${isBusy ? ' Other processes kept all cores busy.' : ''} Medians of ${rounds} alternating rounds; every load was checked by row count and checksum. The time of Sluice is from
the request of a run to its end: queue, type inference, staging, statistics, ledger and swap.

`
