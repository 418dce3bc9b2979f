import { describe, expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import type { RejectedRow } from '@sluice/row-stream'
import fc from 'fast-check'
import { groupTextsByDialect } from '../../src/delimited/similar-texts/group-texts-by-dialect.ts'
import { DelimitedReader, type KnownColumns } from '../../src/delimited/delimited-reader.ts'
import type { DelimitedOptions } from '../../src/delimited/dialect/delimited-options.ts'
import { defaultDelimitedLimits, type DelimitedLimits } from '../../src/delimited/limits.ts'
import type { TextPart, TextSegment } from '../../src/delimited/similar-texts/text-part.ts'
import { startScanner } from '../../src/delimited/wasm-scanner.ts'
import { textOf } from './read-text.ts'
import { tuplesOf } from './decode-copy-tuples.ts'

const wasm = startScanner()

function toSegments(texts: readonly string[]): TextSegment[] {
  let to = 0
  return texts.map((text, index) => {
    const from = to
    to += Buffer.byteLength(text)
    return { name: `text ${index}`, from, to }
  })
}

/** Groups texts that lie one after the other in a file. */
function group(texts: readonly string[], options: DelimitedOptions = {}, limits = defaultDelimitedLimits) {
  const file = textOf(texts.join(''))
  const segments = toSegments(texts)
  const [first, ...others] = groupTextsByDialect(file, segments, { options, limits, wasm })
  return { file, similar: { ...first!, others: others.flatMap(({ indexes }) => indexes).toSorted((a, b) => a - b) } }
}

/** The end of the rows of a text: its index as a text, and the number of the row. */
const suffixOf = (index: number) => {
  const bytes = Buffer.alloc(4 + 2 + 4 + 8)
  bytes.writeInt32BE(2, 0)
  bytes.write(String(index).padStart(2, '0'), 4)
  bytes.writeInt32BE(8, 6)
  return { fields: 2, bytes: new Uint8Array(bytes), rowNumberAt: 10 }
}

/** Reads the texts of a group as TEXT, with the end of their rows. */
function readGroup(
  { file, similar: { detected, parts, known, indexes } }: ReturnType<typeof group>,
  limits: DelimitedLimits = defaultDelimitedLimits,
) {
  const named: TextPart[] = parts.map((part, at) => ({
    ...part,
    name: `text ${indexes[at]}`,
    suffix: suffixOf(indexes[at]!),
  }))
  for (let columns: KnownColumns = known; ; ) {
    const reader = new DelimitedReader(file, detected.dialect, limits, wasm, { parts: named, known: columns })
    const rows: string[][] = []
    const rejected: RejectedRow[] = []
    const pass = reader.encode(reader.columns.map(() => ({ dataType: 'TEXT' })))
    for (;;) {
      const step = pass.next()
      if (!step.done) {
        const tuples = tuplesOf(Buffer.from(step.value.tuples))
        rows.push(
          ...tuples.map((cells) => [
            ...cells.slice(0, -1).map((cell) => cell?.toString() ?? 'null'),
            String(cells.at(-1)!.readBigInt64BE()),
          ]),
        )
        rejected.push(...step.value.rejected)
      } else if ('widened' in step.value) {
        columns = reader.known
        break
      } else return { rows, rejected, writtenRowCounts: step.value.writtenRowCounts, columns: reader.columns }
    }
  }
}

const groupsOf = ({ indexes, others }: ReturnType<typeof group>['similar']) => [indexes, others]

describe('texts with the same first lines', () => {
  it('are read as one, with their own rows, numbers and lines', () => {
    const cell = fc.constantFrom('a', '', '"x,y"', '"two\nlines"', '12', '"say ""so"""', 'é')
    const text = fc.record({
      rows: fc.array(fc.tuple(cell, cell), { maxLength: 40 }),
      hasEnd: fc.boolean(),
      isBroken: fc.boolean(),
    })
    const law = (texts: { rows: [string, string][]; hasEnd: boolean; isBroken: boolean }[], chunkBytes: number) => {
      const limits = { ...defaultDelimitedLimits, chunkBytes, readBytes: 64 }
      const lines = texts.map(({ rows, isBroken }) => [
        'one,other',
        ...rows.map((row) => row.join()),
        ...(isBroken ? ['a,b,c', '"open'] : []),
      ])
      const options: DelimitedOptions = {
        delimiter: 'COMMA',
        headerLines: 1,
        quote: 'DOUBLE',
        escape: 'DOUBLED',
        skipLines: 0,
      }
      const joined = lines.map(
        (some, index) => some.join('\n') + (texts[index]!.hasEnd || some.length === 1 ? '\n' : ''),
      )
      const grouped = group(joined, { ...options, footerLines: 0, trailingDelimiters: 0, trimSpaces: false }, limits)
      expect(grouped.similar.others).toEqual([])
      const { rows, rejected, writtenRowCounts } = readGroup(grouped, limits)
      const valueOf = (written: string) =>
        written === '' ? 'null' : written.replace(/^"([^]*)"$/, '$1').replaceAll('""', '"')
      const expected = texts.flatMap(({ rows: some }, index) =>
        // An empty line is ignored, but `,` is a row.
        some.map((row, at) => [...row.map(valueOf), String(index).padStart(2, '0'), String(at + 1)]),
      )
      expect(rows).toEqual(expected)
      expect(writtenRowCounts).toEqual(texts.map(({ rows: some }) => some.length))
      const linesBefore = (index: number) => joined[index]!.split('\n').findIndex((line) => line === 'a,b,c') + 1
      const broken = texts.flatMap(({ isBroken }, index) =>
        isBroken ? [`text ${index}: ${linesBefore(index)}`, `text ${index}: ${linesBefore(index) + 1}`] : [],
      )
      expect(rejected.map(({ line, reason }) => `${reason.split(': ')[0]}: ${line}`)).toEqual(broken)
    }
    fc.assert(fc.property(fc.array(text, { minLength: 1, maxLength: 12 }), fc.constantFrom(64, 300, 4096), law), {
      numRuns: drawCount({ short: 60, long: 3_000 }),
    })
  })

  it('have one type for each column, which fits all of them', () => {
    const { similar } = group(['n,t\n1,2024-01-31\n', 'n,t\n2.5,\n', 'n,t\n70000,2024-02-01\n', 'n,t\n'])
    expect(groupsOf(similar)).toEqual([[0, 1, 2, 3], []])
    expect(similar.known.columns).toMatchObject([
      { dataType: 'DECIMAL', precision: 6, scale: 1 },
      { dataType: 'DATE', dateFormat: 'YYYY-MM-DD' },
    ])
  })

  it('are grouped in one pass, each group with types of its own, whatever the order of the texts', () => {
    const texts = ['a,n\nx,1\n', 'b,n\n7,y\n', 'a,n\nx,2.5\n', 'a,d\nx,2024-01-31\n', 'b,n\n70000,z\n']
    const segments = toSegments(texts)
    const groups = groupTextsByDialect(textOf(texts.join('')), segments, {
      options: {},
      limits: defaultDelimitedLimits,
      wasm,
    })
    expect(groups.map(({ indexes }) => indexes)).toEqual([[0, 2], [1, 4], [3]])
    expect(groups.map(({ known }) => known.columns.map(({ dataType }) => dataType))).toEqual([
      ['TEXT', 'DECIMAL'],
      ['INTEGER', 'TEXT'],
      ['TEXT', 'DATE'],
    ])
  })

  it('are each read a few times only, although all have other lines before their rows', () => {
    const countReads = (count: number) => {
      const texts = Array.from({ length: count }, (_, index) => `List of cases\nid${index},n\n1,2\n`)
      const file = textOf(texts.join(''))
      let reads = 0
      const counted = { ...file, read: (...range: Parameters<typeof file.read>) => ((reads += 1), file.read(...range)) }
      const options: DelimitedOptions = { skipLines: 1, headerLines: 1, delimiter: 'COMMA' }
      const groups = groupTextsByDialect(counted, toSegments(texts), { options, limits: defaultDelimitedLimits, wasm })
      expect(groups).toHaveLength(count)
      return reads
    }
    expect(countReads(400)).toBeLessThan(countReads(100) * 5)
  })

  it.each([
    ['the decimal sign', ['a;n\nx;1.5\ny;2.5\n', 'a;n\nx;3,5\ny;4,5\n']],
    ['the escape character', ['a,b\nx,"y ""z"""\nx,y\n', 'a,b\nx,"y \\"z\\" y"\nx,"\\",y"\nx,"a \\"b\\""\n']],
    ['the quote', ['a,b\nx,y\nx,y\n', "a,b\n'x, y',z\n'x, z',y\n'x',y\n"]],
    ['the form of dates', ['a,d\n1,2024-01-31\n', 'a,d\n1,31.01.2024\n']],
    ['the kind of line ends', ['a,d\n1,2\n', 'a,d\r\n1,2\r\n']],
    ['the header', ['a,d\n1,2\n', 'a,e\n1,2\n']],
    ['the missing header', ['5,6\n7,8\n', 'a,b\n7,8\n']],
  ])('are not read as one if they differ in %s', (_what, texts) => {
    expect(groupsOf(group(texts, { delimiter: texts[0]!.includes(';') ? ';' : ',' }).similar)).toEqual([[0], [1]])
  })

  it.each([
    ['numbers in which points may separate thousands', ['a;n\nx;1\n', 'a;n\nx;1.234\ny;2.500\n', 'a;n\nx;3\n']],
    ['a header with a line end, and the first one without', ['a', 'a\n1\n', 'a']],
    ['a header with a whole line end, and the first one with half of it', ['a\r', 'a\r\n1\r\n', 'a\r2\r']],
  ])('are not read as one if one has %s', (_what, texts) => {
    const { similar } = group(texts, { delimiter: ';', headerRow: true })
    expect(groupsOf(similar)).toEqual([[0, 2], [1]])
  })

  it('are read as one if a text has the first decimals of a column', () => {
    const { similar } = group(['a;n\nx;1\n', 'a;n\nx;0.5\n', 'a;n\nx;1.234\n'], { delimiter: ';' })
    expect(groupsOf(similar)).toEqual([[0, 1, 2], []])
    expect(similar.known.columns[1]).toMatchObject({ dataType: 'DECIMAL', scale: 3 })
  })

  it('are read without the other tables in them, which sentences name', () => {
    const rows = '1,10,x\n2,20,y\n3,30,z\n4,40,x\n'
    const others = '\nplace,share\nnorth,5\nsouth,6\n'
    const grouped = group([`id,n,t\n${rows}${others}`, `id,n,t\n${rows}`, `id,n,t\n${rows}${rows}${others}`])
    expect(groupsOf(grouped.similar)).toEqual([[0, 1, 2], []])
    expect(readGroup(grouped)).toMatchObject({ writtenRowCounts: [4, 4, 8], rejected: [] })
    expect(grouped.similar.unread).toEqual([
      expect.stringMatching(
        /^Only the table in lines 1 to 5 of text 0 was read; another table seems to be in lines 7 /,
      ),
      expect.stringMatching(
        /^Only the table in lines 1 to 9 of text 2 was read; another table seems to be in lines 11 /,
      ),
    ])
  })

  it('keep dates as TEXT if one text has the day first and another one the month', () => {
    const { similar } = group(['a,d\n1,02/03/2024\n', 'a,d\n1,31/01/2024\n', 'a,d\n1,01/31/2024\n'])
    expect(groupsOf(similar)).toEqual([[0, 1, 2], []])
    expect(similar.known.columns[1]).toEqual({ label: 'd', dataType: 'TEXT' })
  })

  it('are read without their footers, which the notes name', () => {
    const rows = '1,10,x\n2,20,y\n3,30,z\n4,40,x\n'
    const grouped = group([`id,n,t\n${rows}`, `id,n,t\n${rows}\nSource: the ministry,,\n`, `id,n,t\n${rows}`])
    expect(groupsOf(grouped.similar)).toEqual([[0, 1, 2], []])
    expect(grouped.similar.notes).toMatchObject([expect.stringMatching(/^text 1: .*Source: the ministry/)])
    expect(readGroup(grouped)).toMatchObject({ writtenRowCounts: [4, 4, 4], rejected: [] })
  })

  it('are read again with wider types if samples of a large text were not enough', () => {
    const limits = {
      ...defaultDelimitedLimits,
      readBytes: 256,
      wholeBytes: 1_000,
      sampleBytes: 200,
      slices: 1,
      sliceBytes: 50,
    }
    const long = Array.from({ length: 400 }, (_, at) => `${at === 150 ? 'none' : at},x`).join('\n')
    const grouped = group([`n,t\n${long}\n`, 'n,t\n1,y\n'], { delimiter: 'COMMA' }, limits)
    expect(grouped.similar.known.columns[0]).toMatchObject({ dataType: 'SMALLINT' })
    const { rows, columns } = readGroup(grouped, limits)
    expect([rows.length, columns[0]!.dataType, rows[150]]).toEqual([401, 'TEXT', ['none', 'x', '00', '151']])
  })

  it('name the text with the value that makes a column TEXT', () => {
    const numbers = Array.from({ length: 20 }, (_, at) => `${at},x\n`).join('')
    const grouped = group([`n,t\n${numbers}`, `n,t\n${numbers}none,x\n${numbers}`])
    const { file, similar } = grouped
    const parts = similar.parts.map((part, index) => ({ ...part, name: `text ${index}` }))
    const reader = new DelimitedReader(file, similar.detected.dialect, defaultDelimitedLimits, wasm, {
      parts,
      known: similar.known,
    })
    expect(reader.findOddValues()).toMatchObject([{ column: 0, value: 'none', line: 22, part: 'text 1' }])
  })
})
