import type { WriteStream } from 'node:tty'

/** The progress of a task. */
export interface ProgressStep {
  label: string
  /** From 0 to 1; undefined while it is unknown. */
  fraction: number | undefined
  /** Amounts and rates. */
  detail: string
}

const barWidth = 28
/** Milliseconds between two updates of the bar. */
const drawInterval = 50
/** Milliseconds between two lines, where the output is not a terminal. */
const lineInterval = 5_000

/** Shows progress as a bar on a terminal, and otherwise as a line every five seconds. */
export function createProgressView(stream: Pick<WriteStream, 'write' | 'isTTY' | 'columns'>) {
  let drawn = false
  let last = { label: '', at: 0 }

  const clear = () => {
    if (drawn) stream.write('\r\u001b[K')
    drawn = false
  }
  return {
    show({ label, fraction, detail }: ProgressStep): void {
      const now = performance.now()
      const isNew = last.label !== label
      if (!isNew && now - last.at < (stream.isTTY ? drawInterval : lineInterval)) return
      last = { label, at: now }
      const percentage = fraction === undefined ? '' : `${Math.floor(Math.min(1, fraction) * 100)} %`
      if (stream.isTTY) {
        const text = `  ${label.padEnd(9)} ${bar(fraction)} ${percentage.padStart(5)}  ${detail}`
        stream.write(`\r${[...text].slice(0, (stream.columns || 80) - 1).join('')}\u001b[K`)
        drawn = true
      } else {
        stream.write(isNew ? `  ${label}…\n` : `  ${label}: ${[percentage, detail].filter(Boolean).join(', ')}\n`)
      }
    },
    /** Removes the bar and writes a permanent line. */
    printLine(line: string): void {
      clear()
      stream.write(`${line}\n`)
    },
    clear,
  }
}

export type ProgressView = ReturnType<typeof createProgressView>

function bar(fraction: number | undefined): string {
  const filled = Math.round(Math.min(1, Math.max(0, fraction ?? 0)) * barWidth)
  return `${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)}`
}
