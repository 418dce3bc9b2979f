import { expect, it } from '@jest/globals'
import { brokenCatalogue } from './problems-page.ts'

const known = [{ code: 'too-odd', status: 422, title: 'Too odd.', when: 'always' }]

it('a catalogue of problems is what the sources answer, no more and no less', () => {
  expect(brokenCatalogue('app', known, [`new Problem(422, 'too-odd', 'Too odd.')`])).toEqual([])
  expect(brokenCatalogue('app', known, [`throw new Problem(\n  409,\n  'too-odd',`])).toEqual([
    'app answers 409 too-odd, which its problem-catalogue.ts does not know',
  ])
  expect(brokenCatalogue('app', known, ['new Problem(404, \'not-found\', "")'])).toEqual([
    'app does not answer too-odd, which its problem-catalogue.ts tells of',
  ])
  const twice = [...known, { ...known[0]!, status: 503 }]
  expect(brokenCatalogue('app', twice, [`new Problem(422, 'too-odd', 'Too odd.')`])).toEqual([
    'app has the code too-odd for two things',
  ])
})
