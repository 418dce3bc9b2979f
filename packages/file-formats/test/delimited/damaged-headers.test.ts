import { describe, expect, it } from '@jest/globals'
import { readText } from './read-text.ts'

const body = '28/01/2018,2,5.5,x,\n29/01/2018,3,7.25,y,\n30/01/2018,4,8.75,z,\n'

describe('a header', () => {
  it.each<[string, string, string[]]>([
    [
      'with an empty label between the others that no row has',
      'day,,count,price,kind,note\n',
      ['day', 'count', 'price', 'kind', 'note'],
    ],
    [
      'with an empty label before the others',
      ',day,count,price,kind,note\n',
      ['day', 'count', 'price', 'kind', 'note'],
    ],
    ['with two empty labels', 'day,,count,,price,kind,note\n', ['day', 'count', 'price', 'kind', 'note']],
    [
      'with broken quotes above an empty last column',
      'day,count,price,"kind"note\n',
      ['day', 'count', 'price', 'kind"note'],
    ],
  ])('%s is read, and each row fits', (_, header, labels) => {
    const read = readText(header + body)
    expect(read.labels).toEqual(labels)
    expect(read.rows.map((row) => row.slice(0, 4))).toEqual([
      ['28/01/2018', '2', '5.5', 'x'],
      ['29/01/2018', '3', '7.25', 'y'],
      ['30/01/2018', '4', '8.75', 'z'],
    ])
    expect(read.rejected).toEqual([])
    expect(read.notes).toHaveLength(header.includes(',,') || header.startsWith(',') ? 1 : 2)
  })

  it('says which labels were left out', () => {
    expect(readText(`day,,count,price,kind,note\n${body}`).notes).toEqual([
      'The header has more labels than the rows have values. It is read without 1 empty label.',
    ])
  })

  it.each<[string, string]>([
    ['some rows have a value for each label', `day,,count,price,kind,note\n${body}31/01/2018,,5,1.5,x,n\n`],
    ['other labels would have no value either', `day,,count,,price,kind,note,more\n${body}`],
  ])('keeps its empty labels if %s', (_, text) => {
    expect(readText(text).labels).toContain('')
  })
})
