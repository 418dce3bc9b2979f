import { describe, expect, it } from '@jest/globals'
import { detectDialect } from '../../src/delimited/dialect/detect-dialect.ts'
import type { DelimitedOptions } from '../../src/delimited/dialect/delimited-options.ts'
import type { ReadableFile } from '../../src/delimited/dialect/file-sample.ts'

export function fileOf(content: string | Uint8Array): ReadableFile {
  const bytes = Buffer.from(content)
  return {
    name: 'input.csv',
    size: bytes.length,
    read: (into, at, length, position) => bytes.copy(into, at, position, Math.min(bytes.length, position + length)),
  }
}

const detect = (content: string | Uint8Array, options: DelimitedOptions = {}) => detectDialect(fileOf(content), options)

describe('the delimiter', () => {
  it.each([
    ['COMMA', 'a,b\n1,2\n'],
    ['SEMI_COLON', 'a;b\n1,5;2,5\n3,5;4,5\n'],
    ['TAB', 'a\tb\n1,2,3\tx\n4\ty;z\n'],
    ['PIPE', 'a|b|c\n1,x|2|3\n'],
    ['COMMA', 'a,b\n"1;2;3",x\n"4;5",y\n'],
    ['SEMI_COLON', '"a, b, c";"d"\n"1,2";"x\n,,"\n'],
    ['COMMA', 'id,list\n1,a|b|c\n2,a|b|c\n3,d|e|f\n'],
    ['SEMI_COLON', 'a;b;c\r1;2;3\r'],
    ['COMMA', 'a,b,c\n1,2,3\n1,2\n1,2,3\n1,2,3,4\n1,2,3\n'],
    ['COMMA', 'name,note\n"Smith, J",x\n"bad"quote,y\nz,w\n'],
    ['SEMI_COLON', 'name\nSmith, John\nDoe\n'],
    ['COMMA', 'name\nSmith\nDoe; Jane\n'],
    ['COMMA', 'name,tags\nx,1,2,3\ny,1,2\nz\n'],
    ['COMMA', 'name\n'],
    ['SEMI_COLON', 'a;b;c'],
    ['COMMA', '\n\n\na,b\n\n1,2'],
  ])('is %s in %j', (delimiter, content) => {
    expect(detect(content).guesses.delimiter.value).toBe(delimiter)
  })
})
