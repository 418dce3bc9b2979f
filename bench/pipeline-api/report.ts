import { availableParallelism, totalmem } from 'node:os'
import { isMet } from '../load/report.ts'
import type { MeasureReport } from './measures/measure.ts'

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`

/** Returns a section as Markdown: a table and its targets. */
export function markdown({ title, head, rows, targets }: MeasureReport): string {
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

export const heading = (rounds: number): string => `# The pipeline service when there is a lot of everything

${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB of memory, Node ${process.versions.node}; services, worker and PostgreSQL on the same cores, as
\`npm start\` sets them up. ${rounds} rounds.

`
