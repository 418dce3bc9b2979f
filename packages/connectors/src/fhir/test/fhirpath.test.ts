import { describe, expect, it } from '@jest/globals'
import { compileFhirPath } from '../fhirpath.ts'

const patient = {
  active: true,
  birthDate: '1990-05-01',
  name: [
    { use: 'official', family: "O'Hara", given: ['Asha', 'B'] },
    { use: 'usual', given: ['Ash'] },
  ],
  identifier: [{ type: { coding: [{ code: 'NationalID' }, { code: 'x' }] }, value: '0042' }, { value: '7' }],
  extension: [{ url: 'u', valueReference: { reference: 'Location/1' } }],
  contact: [],
  multipleBirthInteger: 2,
}

describe('FHIRPath', () => {
  it.each([
    ['birthDate', ['1990-05-01']],
    ['Patient.name.given', ['Asha', 'B', 'Ash']],
    ["name.where(use = 'official').family", ["O'Hara"]],
    ["name.where(family='O\\'Hara').given.first()", ['Asha']],
    ['name[1].given', ['Ash']],
    ["name.given.join(' ')", ['Asha B Ash']],
    ["identifier.where(type.coding.where(code='NationalID' or code='Passport')).value", ['0042']],
    ["extension('u').value.reference", ['Location/1']],
    ['extension.value.ofType(Reference).reference', ['Location/1']],
    ["(birthDate >= '1990') and active", [true]],
    ["birthDate < '1990' or contact.exists()", [false]],
    ['contact.phone = 1', []],
    ['contact.empty() and name.count() = 2', [true]],
    ['active.not()', [false]],
    ['multipleBirth + 1', [3]],
    ["iif(active, 'yes', 'no')", ['yes']],
    ["name.exists($this.use = 'nickname')", [false]],
    ['`birthDate` | name.family', ['1990-05-01', "O'Hara"]],
  ])('%s', (expression, values) => {
    expect(compileFhirPath(expression)(patient)).toEqual(values)
  })

  it.each(['name.', 'name.resolve()', "name.where(use='x'", 'name ~ 1', '', 'a b'])(
    'rejects an unsupported expression, and names it in the message: %s',
    (expression) => {
      expect(() => compileFhirPath(expression)).toThrow(`The FHIRPath "${expression}" uses a feature`)
    },
  )

  it.each([
    ['brackets', `${'('.repeat(20_000)}id${')'.repeat(20_000)}`],
    ['parts', `id${'.id'.repeat(20_000)}`],
  ])('rejects an expression with thousands of %s', (_what, expression) => {
    expect(() => compileFhirPath(expression)).toThrow(/uses a feature that this version does not support/)
  })
})
