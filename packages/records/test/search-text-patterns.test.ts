import { describe, expect, it } from '@jest/globals'
import { escapeLike, trigramPattern } from '../src/search/text-patterns.ts'
import { pick, randomNumbers } from './reference-search.ts'

const patternOf = (text: string) => trigramPattern(`%${escapeLike(text)}%`)

describe('the trigram pattern of a text', () => {
  it.each<[string, string | undefined]>([
    ['rlos quitit', '%rlos%qui%tit%'],
    ['anna.berg@example.org', '%anna%berg%exa%mple%org%'],
    ['Zoë_Müllersohn', '%Zoë%Mül%ler%sohn%'],
    ['o’neill-å-ångström', '%neill%ång%ström%'],
    ['50% of_all\\shares', '%all%sha%res%'],
  ])('splits %s into %s', (text, pattern) => {
    expect(patternOf(text)).toBe(pattern)
  })

  it.each(['carlos', 'wanjiru', '東京都庁', 'a b c d e f', '% % % % %', 'chris-ab'])(
    'is undefined for %s, which has one piece or only short ones',
    (text) => {
      expect(patternOf(text)).toBeUndefined()
    },
  )

  it('matches every string that contains the text', () => {
    const random = randomNumbers(20_261_122)
    const letters = [...'abcdeéßøñ東京😀 .@-_%\\1234567']
    const textOf = (length: number) => Array.from({ length }, () => pick(random, letters)).join('')
    let tested = 0
    for (let round = 0; round < 2000; round++) {
      const text = textOf(6 + (round % 30))
      const pattern = patternOf(text)
      if (pattern === undefined) continue
      tested++
      const pieces = pattern.split('%').slice(1, -1)
      expect(pieces.every((piece) => [...piece].length >= 3)).toBe(true)
      const equivalent = new RegExp(pieces.join('.*'), 'su')
      expect(`${textOf(5)}${text}${textOf(5)}`).toMatch(equivalent)
    }
    expect(tested).toBeGreaterThan(500)
  })
})
