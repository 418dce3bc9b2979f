import { availableParallelism, totalmem } from 'node:os'
import type { SourceResult } from './measures/measure.ts'

const cells = (texts: (string | number)[]): string => `| ${texts.join(' | ')} |`
const seconds = (milliseconds: number): string => (milliseconds / 1000).toFixed(2)
const rate = (amount: number, milliseconds: number): number => amount / (milliseconds / 1000)

const heads = ['type', 'what', 'rows', 'MB', 'raw s', 'Sluice s', 'rows/s', 'MB/s', 'of raw', 'worker peak MiB']

/** Returns the time of the raw download divided by the time of Sluice: 0.5 means half the speed of the download. */
export const ofRaw = ({ raw, sluice }: SourceResult): number => raw.milliseconds / sluice.milliseconds

export const head = (): string =>
  [cells(heads), cells(heads.map((_, index) => (index < 2 ? '---' : '---:')))].join('\n')

export const row = (line: SourceResult): string => {
  const { type, what, rows, bytes, raw, sluice } = line
  const rowsEach = Math.round(rate(rows, sluice.milliseconds)).toLocaleString('en')
  return cells([
    `\`${type}\``,
    sluice.hasOtherRows ? `${what} **(other rows)**` : what,
    rows.toLocaleString('en'),
    (bytes / 1e6).toFixed(1),
    seconds(raw.milliseconds),
    seconds(sluice.milliseconds),
    rowsEach,
    rate(bytes / 1e6, sluice.milliseconds).toFixed(1),
    ofRaw(line).toFixed(2),
    sluice.memory.toFixed(0),
  ])
}

export const heading = (rounds: number, load: string): string => `# How fast each source is read

${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB of memory, Node ${process.versions.node}; the source, PostgreSQL, the service and the bench share
them. Medians of ${rounds} rounds in turns; the rows of every load were compared with what the source is known to have, by count and checksum.
"raw" is the same bytes brought to this machine by plain fetch or the database's own client, and thrown away; "of raw" is
its time in that of a whole run, queue, types, staging, ledger and swap included. Answers of systems come from memory on both sides, over
loopback: 40 MB/s are a line of 320 Mbit/s. ${load}

`
