import { afterAll, describe, expect, it } from '@jest/globals'
import { detectDelimiter } from '../src/dialect.ts'
import { defaultLimits } from '../src/limits.ts'
import { TextFile } from '../src/text-file.ts'
import { inputFolder } from './read-whole.ts'

const folder = inputFolder()
afterAll(() => folder[Symbol.dispose]())

function detect(content: string | Uint8Array): string {
  using file = new TextFile(folder.write(content), 'input.csv')
  return detectDelimiter(file, defaultLimits)
}

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
    ['COMMA', ''],
    ['COMMA', '\n\n\na,b\n\n1,2'],
    ['TAB', `${Array.from({ length: 200_000 }, (_, index) => `c${index}`).join('\t')}\n`],
  ])('is %s in %j', (delimiter, content) => {
    expect(detect(content)).toBe(delimiter)
  })

  it('is found in UTF-16', () => {
    expect(detect(Buffer.from('\ufeffa;b\n1,5;2,5\n', 'utf16le'))).toBe('SEMI_COLON')
  })
})
