import type { WriteStream } from 'node:tty'

/** The progress of a task. */
export interface Step {
  label: string
  /** From 0 to 1; undefined while it is unknown. */
  part: number | undefined
  /** Amounts and rates. */
  detail: string
}

const barWidth = 28
/** Milliseconds between two updates of the bar. */
const drawInterval = 50
/** Milliseconds between two lines, where the output is not a terminal. */
const lineInterval = 5_000

/** Shows progress: as a bar on a terminal, and as a line now and then elsewhere. */
export function progress(stream: Pick<WriteStream, 'write' | 'isTTY' | 'columns'>) {
  let drawn = false
  let last = { label: '', at: 0 }

  const clear = () => {
    if (drawn) stream.write('\r\u001b[K')
    drawn = false
  }
  return {
    show({ label, part, detail }: Step): void {
      const now = performance.now()
      const isNew = last.label !== label
      if (!isNew && now - last.at < (stream.isTTY ? drawInterval : lineInterval)) return
      last = { label, at: now }
      const percentage = part === undefined ? '' : `${Math.floor(Math.min(1, part) * 100)} %`
      if (stream.isTTY) {
        const text = `  ${label.padEnd(9)} ${bar(part)} ${percentage.padStart(5)}  ${detail}`
        stream.write(`\r${[...text].slice(0, (stream.columns || 80) - 1).join('')}\u001b[K`)
        drawn = true
      } else {
        stream.write(isNew ? `  ${label}…\n` : `  ${label}: ${[percentage, detail].filter(Boolean).join(', ')}\n`)
      }
    },
    /** Removes the bar and writes a permanent line. */
    say(line: string): void {
      clear()
      stream.write(`${line}\n`)
    },
    clear,
  }
}

export type ProgressView = ReturnType<typeof progress>

function bar(part: number | undefined): string {
  const full = Math.round(Math.min(1, Math.max(0, part ?? 0)) * barWidth)
  return `${'█'.repeat(full)}${'░'.repeat(barWidth - full)}`
}
