import { availableParallelism, totalmem } from 'node:os'
import { met } from '../load/report.ts'
import type { Report } from './measures/measure.ts'

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`

/** A report as markdown: a table, and what of it was wanted. */
export function markdown({ title, head, rows, targets }: Report): string {
  const table = [
    line(head),
    line(head.map((_, column) => (column === 0 ? '---' : '---:'))),
    ...rows.map((row) => line(row.map((cell) => (typeof cell === 'number' ? cell.toFixed(2) : cell)))),
  ]
  const wanted = targets.map(
    (target) =>
      `- ${target.text}: ${target.value.toFixed(2)} ${target.unit}, wanted ≤ ${target.limit} ${target.unit}: ${met(target) ? 'met' : '**missed**'}`,
  )
  return [`## ${title}`, '', ...table, '', ...wanted, ''].join('\n')
}

export const heading = (rounds: number): string => `# The pipeline service when there is a lot of everything

${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB of memory, Node ${process.versions.node}; services, worker and PostgreSQL on the same cores, as
\`npm start\` sets them up. ${rounds} rounds.

`
