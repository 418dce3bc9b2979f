import { expect, it } from '@jest/globals'
import { byteRate, bytesText, rowRate, rowsText, secondsText } from './format-units.ts'
import { createProgressView } from './progress-bar.ts'
import { toPrintable, textTable } from './text-table.ts'

function stream(isTTY: boolean, columns = 60) {
  const written: string[] = []
  return { isTTY, columns, written, write: (text: string) => written.push(text) > 0 }
}

it('textTable aligns text left and numbers right', () => {
  const rows = [
    ['name', 'value'],
    ['Água', 5],
    ['b', 1200],
    [null, null],
  ]
  expect(textTable(rows, { width: 80, right: [false, true] }).lines).toEqual([
    'name  value',
    'Água      5',
    'b      1200',
    '–         –',
  ])
})

it('textTable cuts long cells and omits columns to fit the width', () => {
  const { lines, columnsShown } = textTable([['a', 'b'.repeat(100), 'c', 'd'.repeat(30)]], { width: 60, right: [] })
  expect(lines).toEqual([`a  ${'b'.repeat(11)}…  c  ${'d'.repeat(11)}…`])
  expect(columnsShown).toBe(4)
  expect(textTable([['a'.repeat(9), 'b'.repeat(9), 'c']], { width: 20, right: [] }).columnsShown).toBe(2)
})

it('toPrintable replaces control characters, line breaks and bidirectional overrides', () => {
  expect(toPrintable('a\u001b[2Jb\r\nc\u202ed\u0007')).toBe('a·[2Jb⏎c·d·')
  expect(toPrintable({ a: '\u001b' })).toBe('{"a":"\\u001b"}')
})

it('formats bytes, seconds, rows and rates with units', () => {
  expect([bytesText(1), bytesText(999), bytesText(26_458_956), bytesText(3e12)]).toEqual([
    '1 byte',
    '999 bytes',
    '26.5 MB',
    '3.0 TB',
  ])
  expect([secondsText(424), secondsText(12_345), secondsText(245_000)]).toEqual(['0.42 s', '12.3 s', '4 min 05 s'])
  expect([rowsText(1), rowRate(200_000, 2_000), byteRate(5e6, 0)]).toEqual(['1 row', '100,000 rows/s', '5000.0 MB/s'])
})

it('createProgressView redraws one line on a terminal and cuts it to the width of the terminal', () => {
  const terminal = stream(true, 40)
  const view = createProgressView(terminal)
  view.show({ label: 'Loading', fraction: 0.5, detail: '100,000 rows, 12.0 MB/s, and more text than fits' })
  view.printLine('done')
  const [drawn, cleared, printed] = terminal.written
  expect(drawn?.startsWith('\r  Loading   ██')).toBe(true)
  expect(drawn?.endsWith('\u001b[K')).toBe(true)
  expect(drawn?.replace('\r', '').replace('\u001b[K', '')).toHaveLength(39)
  expect([cleared, printed]).toEqual(['\r\u001b[K', 'done\n'])
})

it('createProgressView writes one line for each label if the output is not a terminal', () => {
  const file = stream(false)
  const view = createProgressView(file)
  for (let fraction = 0; fraction <= 1; fraction += 0.001) view.show({ label: 'Uploading', fraction, detail: '1.0 MB' })
  view.show({ label: 'Loading', fraction: undefined, detail: '' })
  view.clear()
  expect(file.written).toEqual(['  Uploading…\n', '  Loading…\n'])
})
