import { describe, expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import { detectDialect } from '../../src/delimited/dialect/detect-dialect.ts'
import type { DelimitedOptions } from '../../src/delimited/dialect/delimited-options.ts'
import { defaultDelimitedLimits } from '../../src/delimited/limits.ts'
import { describeGuesses } from '../../src/delimited/dialect/detected-options.ts'
import { below, pick, seeded } from './random-files.ts'
import { readText, textOf } from './read-text.ts'

const detect = (content: string | Uint8Array, options: DelimitedOptions = {}) => detectDialect(textOf(content), options)
const refusal = (content: string | Uint8Array, options: DelimitedOptions) => {
  try {
    detect(content, options)
  } catch (error) {
    return (error as Error).message
  }
  return undefined
}

describe('configured and detected dialect options', () => {
  const text = 'Title\nid;name;note\n1;"a;b";\n2;c;\nTotal;;\n'

  it.each<[DelimitedOptions, string]>([
    [{}, 'delimiter “;”, header in line 2, 1 line above it skipped, 1 line at the end skipped'],
    [{ skipLines: 0 }, 'delimiter “;”, header in line 1'],
    [{ delimiter: 'COMMA' }, 'delimiter “,”, header in line 1'],
    [{ headerRow: false }, 'delimiter “;”, no header row, 1 line above it skipped, 1 line at the end skipped'],
    [{ footerLines: 0 }, 'delimiter “;”, header in line 2, 1 line above it skipped'],
    [
      { decimal: 'COMMA', trimSpaces: true, headerLines: 2, skipLines: 1, footerLines: 0 },
      'delimiter “;”, spaces around fields left out, header of 2 lines from line 2 on, 1 line above it skipped, decimal comma',
    ],
    [
      { quote: 'NONE', escape: 'BACKSLASH', skipLines: 1, footerLines: 0 },
      'delimiter “;”, quote none, quotes escaped by backslashes, header in line 2, 1 line above it skipped',
    ],
  ])('%j: %s', (options, says) => {
    const { guesses } = detect(text, options)
    expect(describeGuesses(guesses)).toBe(says)
    for (const name of Object.keys(options) as (keyof typeof guesses)[]) {
      expect(guesses[name]).toMatchObject({ given: true, confidence: 1 })
    }
  })

  it('have a confidence between 0 and 1 if they are detected', () => {
    for (const { given, confidence } of Object.values(detect(text).guesses)) {
      expect(given).toBe(false)
      expect(confidence).toBeGreaterThan(0)
      expect(confidence).toBeLessThanOrEqual(1)
    }
  })

  it.each<[DelimitedOptions, RegExp]>([
    [{ delimiter: 'x' }, /^"x" cannot be a delimiter; give one punctuation character/],
    [{ delimiter: '\n' }, /cannot be a delimiter/],
    [{ delimiter: ';;' }, /cannot be a delimiter/],
    [{ comment: '"' }, /cannot begin comments/],
    [{ delimiter: '#', comment: '#' }, /have to be different/],
    [{ headerRow: false, headerLines: 2 }, /no header lines/],
    [{ columns: [{ dataType: 'TEXT' }] }, /needs a label or an index/],
    [{ columns: [{ index: 3 }] }, /name column 4, but the file has only 3/],
    [{ columns: [{ label: 'Name' }] }, /name the column "Name", which the file does not have/],
    [{ columns: [{ index: 1, label: 'id' }] }, /say that column 2 is called "id"; the file calls it "name"/],
    [{ columns: [{ index: 1 }, { label: 'name' }] }, /Two columns of the options/],
  ])('%j is rejected', (options, message) => {
    expect(refusal(text, options)).toMatch(message)
  })

  it('select columns by label or index', () => {
    const columns = [
      { label: 'note', dataType: 'TEXT' as const },
      { index: 0, name: 'number' },
    ]
    expect(detect(text, { columns }).dialect.columns).toEqual([columns[1], undefined, columns[0]])
    expect(refusal('a,a\n1,2\n', { columns: [{ label: 'a' }] })).toMatch(/several columns called "a"; say which one/)
  })
})

describe('the decimal sign', () => {
  it.each([
    ['COMMA', 'a;b\n1,5;x\n2;y\n'],
    ['COMMA', 'a;b\n0,125;x\n'],
    ['COMMA', 'a;b\n12345,678;x\n'],
    ['POINT', 'a;b\n1,234;x\n2,500;y\n'],
    ['POINT', 'a;b\n1,5;2.5\n'],
    ['POINT', 'a;b\n1,5;x\nnone;y\n'],
    ['POINT', 'a,b\n"1,5",x\n'],
    ['POINT', 'a;b\n1,5,5;x\n'],
  ])('is %s in %j', (sign, text) => {
    expect(detect(text).guesses.decimal.value).toBe(sign)
  })
})

describe('a large file', () => {
  const row = '1234567,Ouagadougou,0.125,true\n'
  const many = row.repeat(20_000)

  it('has its footer detected at its end', () => {
    const text = `id,place,share,ok\n${many}\nSource: the ministry\n`
    const { dialect, guesses } = detect(text)
    expect(guesses.footerLines.value).toBe(1)
    expect(text.slice(dialect.end)).toBe('Source: the ministry\n')
    expect(readText(text).rows).toHaveLength(20_000)
  })

  it('has its columns detected from one long record, and is rejected with too many columns', () => {
    const long = `"${'x'.repeat(600_000)}"`
    expect(detect(`a,b\n${long},1\n`).dialect.labels).toEqual(['a', 'b'])
    expect(detect(`${long},b\n1,2\n`, { headerRow: false }).dialect.labels).toHaveLength(2)
    expect(refusal(`${'c,'.repeat(200_000)}c\n`, {})).toMatch(
      /has 200001 columns in line 1; a table holds at most 1600/,
    )
  })

  it('needs at most 40 times the CPU time of an ordinary file for the worst-case text', () => {
    const ordinary = `id,place,share,ok\n${many}`
    const worst = [
      `id;place;note\n${'1;"a, b";"c: d|e"\n'.repeat(20_000)}`,
      'a,"b\n'.repeat(60_000),
      `a,b\n${'"x"y,1\n'.repeat(40_000)}`,
      '"'.repeat(300_000),
      ',;|\t:^~\u001f\'"\\'.repeat(30_000),
      `${','.repeat(1500)}\n`.repeat(200),
      '\n'.repeat(300_000),
      `${'x'.repeat(100)}\n`.repeat(3000),
    ]
    const [usual, ...others] = [ordinary, ...worst].map(leastWork)
    // Eight times as much was seen; work that grows with the square of the text would be thousands of times as much.
    expect(others.map((work) => work / usual!).filter((times) => times > 40)).toEqual([])
  })
})

/** Microseconds of CPU, the best of five, because the machine may be busy. */
function leastWork(text: string): number {
  const runs = Array.from({ length: 5 }, () => {
    const started = process.cpuUsage()
    try {
      detect(text)
    } catch {
      // Some are refused, which has to be as quick.
    }
    return process.cpuUsage(started).user
  })
  return Math.min(...runs)
}

it('detectDialect returns a dialect within the file or throws a SourceProblem for random text', () => {
  const pieces = [
    '"',
    "'",
    '\\',
    '\n',
    '\r\n',
    '\r',
    ',',
    ';',
    '\t',
    '|',
    ':',
    ' ',
    'a',
    'Bc',
    '1',
    '2.5',
    '2024-01-01',
    '\0',
    'é',
    '#',
  ]
  const seeds = drawCount({ short: 400, long: 40_000 })
  for (let seed = 1; seed <= seeds; seed++) {
    const random = seeded(seed)
    const few = Array.from({ length: 2 + below(random, 8) }, () => pick(random, pieces))
    const text = Array.from({ length: below(random, 120) }, () => pick(random, few)).join('')
    const bytes = random() < 0.2 ? Buffer.from(text, 'latin1') : Buffer.from(text)
    try {
      const { dialect } = detect(bytes)
      const { from, end, line, labels } = dialect
      expect({ seed, from: from >= 0 && from <= end && end <= bytes.length, line: line >= 1 }).toEqual({
        seed,
        from: true,
        line: true,
      })
      expect(labels.length).toBeGreaterThan(0)
      readText(bytes, {}, { ...defaultDelimitedLimits, readBytes: 64 })
    } catch (error) {
      expect({ seed, name: (error as Error).name, message: (error as Error).message }).toMatchObject({
        seed,
        name: 'SourceProblem',
        message: expect.stringMatching(/^.+\.$/s),
      })
    }
  }
})
