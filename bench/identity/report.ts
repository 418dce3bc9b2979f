import { availableParallelism, totalmem } from 'node:os'
import { ratio, type Rounds } from './interleaved-rounds.ts'
import type { Row } from './measures/measure.ts'

const count = (value: number): string => Math.round(value).toLocaleString('en')
const milliseconds = (value: number): string => (Number.isNaN(value) ? '' : value.toFixed(value < 10 ? 1 : 0))

const head = ['what', 'per s', 'p50 ms', 'p95 ms', 'against', 'per s', 'p95 ms', 'ratio', 'target', '']

const cells = ({ what, figures, against, target }: Row): string[] => [
  what,
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
export const rowSummary = (row: Row): string => cells(row).filter(Boolean).join(' · ')

/** Returns the results as a Markdown table with a description of the machine. */
export function table(rows: Row[], { rounds, seconds }: Rounds): string {
  const line = (values: string[]) => `| ${values.join(' | ')} |`
  const rule = line(head.map((_name, index) => ([1, 2, 3, 5, 6, 7].includes(index) ? '---:' : '---')))
  return `${[line(head), rule, ...rows.map((row) => line(cells(row)))].join('\n')}

${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB of memory, Node ${process.versions.node}; one process of the service;
PostgreSQL and the load generator on the same cores. Medians of ${rounds} rounds of ${seconds} s (a sign-in: twice as many) in turns, ratios by round.
`
}
