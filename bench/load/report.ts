import { availableParallelism, totalmem } from 'node:os'
import type { Report, Target } from './measures/measure.ts'

const line = (cells: string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
const seconds = (milliseconds: number): string => (milliseconds / 1000).toFixed(2)

export const met = ({ value, limit }: Target): boolean => value <= limit

const shown = ({ value, unit }: Target): string => `${value.toFixed(unit === 'MiB' ? 0 : 2)} ${unit}`

/** A report as markdown: what was measured, by how much it differs from the first, and what of it was wanted. */
export function markdown({ title, figures, bytes, targets }: Report): string {
  const [first] = figures
  const rows = figures.map(({ name, milliseconds, fastest, slowest, memory, differs }) =>
    line([
      differs ? `${name} (other values)` : name,
      seconds(milliseconds),
      `${seconds(fastest)}–${seconds(slowest)}`,
      (milliseconds / first!.milliseconds).toFixed(2),
      bytes ? (bytes / 1000 / milliseconds).toFixed(0) : '',
      memory ? memory.toFixed(0) : '',
    ]),
  )
  const table = first
    ? [
        line(['how', 's', 'from–to', `ratio to ${first.name}`, 'MB/s', 'peak MiB']),
        line(['---', '---:', '---:', '---:', '---:', '---:']),
        ...rows,
        '',
      ]
    : []
  const wanted = targets.map(
    (target) =>
      `- ${target.text}: ${shown(target)}, wanted ≤ ${target.limit} ${target.unit}: ${met(target) ? 'met' : '**missed**'}`,
  )
  return [`## ${title}`, '', ...table, ...wanted, ''].join('\n')
}

export const heading = (rounds: number): string => `# How fast rows get in

${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB of memory, Node ${process.versions.node}; PostgreSQL on the same cores, as \`npm start\` sets it up,
durable. Medians of ${rounds} rounds in turns; every load was checked by row count and checksum. The product is measured from
the request for a run to its end: queue, types over the whole file, staging, statistics, ledger and swap included.

`
