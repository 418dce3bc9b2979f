import { describe, expect, it } from '@jest/globals'
import { defaultDelimitedLimits } from '../../src/delimited/limits.ts'
import type { DirtyFile } from './dirty-file.ts'
import { dirtyGrammars } from './dirty-grammars.ts'
import { dirtyTables } from './dirty-tables.ts'
import { readText, textOf } from './read-text.ts'
import { readText as load } from './read-whole-file.ts'

const files = [...dirtyGrammars, ...dirtyTables]

/** What came out, in the words of the table. */
function outcome({ text, options, says, notes }: DirtyFile) {
  const whole = readText(text, options)
  return {
    labels: whole.labels.join('¦'),
    rows: whole.rows.map((row) => row.map((cell) => cell ?? '∅').join('¦')),
    rejected: whole.rejected.map(({ line }) => line),
    ...(says && { says: whole.says }),
    ...(notes && { notes: whole.notes }),
  }
}

function expected({ labels, rows, rejected = [], says, notes }: DirtyFile) {
  return { labels, rows, rejected, ...(says && { says }), ...(notes && { notes }) }
}

describe('a file with', () => {
  it.each(files.map((file) => [file.name, file] as const))('%s is read exactly', (_, file) => {
    expect(outcome(file)).toEqual(expected(file))
  })

  it('unusual content: more than 80 cases with distinct names exist', () => {
    expect(files.length).toBeGreaterThan(80)
    expect(new Set(files.map(({ name }) => name)).size).toBe(files.length)
  })
})

describe('a load of all unusual files', () => {
  it('reads every cell and rejects the expected rows with small and large read buffers', () => {
    const exact = files.filter((file) => {
      const { dialect } = readText(file.text, file.options)
      const loaded = [100, defaultDelimitedLimits.readBytes].map((readBytes) =>
        load(textOf(file.text), dialect, { ...defaultDelimitedLimits, readBytes }),
      )
      return loaded.every(({ rows, rejected }) => {
        const cells = rows.map((row) => row.map((cell) => cell ?? '∅').join('¦'))
        const lines = rejected.map(({ line }) => line)
        return `${cells.join('\n')}${lines}` === `${file.rows.join('\n')}${file.rejected ?? []}`
      })
    })
    // The share of files that are read exactly, which is how readers are compared.
    expect(exact.length / files.length).toBe(1)
  })
})

describe('line ends other than LF', () => {
  it.each(['\r\n', '\r'])('%j is read with the same result as LF', (end) => {
    for (const file of files) {
      if (/\r/.test(file.text) || file.rows.some((row) => row.includes('\n'))) continue
      const other = { ...file, text: file.text.replaceAll('\n', end) }
      expect({ name: file.name, ...outcome(other) }).toEqual({ name: file.name, ...expected(file) })
    }
  })
})
