import { expect, it } from '@jest/globals'
import { findCatalogueErrors, findRunCodeErrors } from './problems-page.ts'

const known = [{ code: 'too-odd', status: 422, title: 'Too odd.', when: 'always' }]

it('findCatalogueErrors reports problems that only the sources or only the catalogue contain, and duplicate codes', () => {
  expect(findCatalogueErrors('app', known, [`new Problem(422, 'too-odd', 'Too odd.')`])).toEqual([])
  expect(findCatalogueErrors('app', known, [`throw new Problem(\n  409,\n  'too-odd',`])).toEqual([
    'app returns 409 too-odd, which its problem-catalogue.ts lacks',
  ])
  expect(findCatalogueErrors('app', known, ['new Problem(404, \'not-found\', "")'])).toEqual([
    'app does not return too-odd of its problem-catalogue.ts',
  ])
  const twice = [...known, { ...known[0]!, status: 503 }]
  expect(findCatalogueErrors('app', twice, [`new Problem(422, 'too-odd', 'Too odd.')`])).toEqual([
    'app uses the code too-odd for two problems',
  ])
})

it('findRunCodeErrors reports run codes that only the sources or only the catalogue contain', () => {
  const groups = [{ codes: { TOO_ODD: 'Always.', ODD_TABLE: 'In a table of codes.' } }]
  const table = "const sentences = {\n  ODD_TABLE: 'Odd.' }"
  expect(findRunCodeErrors(groups, ["new SourceProblem('TOO_ODD', 'Odd.')", table])).toEqual({
    unknown: [],
    unused: [],
  })
  expect(findRunCodeErrors(groups, ["throw new LoadProblem(\n  'OTHER',", table])).toEqual({
    unknown: ['OTHER'],
    unused: ['TOO_ODD'],
  })
})
