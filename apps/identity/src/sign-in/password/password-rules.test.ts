import { expect, it } from '@jest/globals'
import { containsContextWord, type PasswordOwner } from './password-rules.ts'

const owner: PasswordOwner = {
  username: 'glovelace',
  name: 'Grâce Lovelace-King',
  email: 'countess.ada+x@poets.example',
  clientName: 'Analytical Engines Ltd.',
  clientCode: 'AE-7000',
}

it.each([
  ['the username', 'my-glovelace-forever'],
  ['a part of the name', 'river LOVELACE moss'],
  ['a part with a hyphen', 'kingfisher over moss'],
  ['an accent less', 'say grace every day'],
  ['an accent more', 'say gráçe every day'],
  ['the e-mail address before its @', 'the-countess-of-tea'],
  ['all of it', 'xx countess.ada+x xx'],
  ['a word of the organisation', 'steam engines of old'],
  ['the code of the organisation', 'route-ae-7000-north'],
  ['the product', 'open the sluice gate'],
  ['digits for letters', '4n4lyt1c4l-moss-and-tea'],
  ['signs for letters', 'river-L0ve|@ce-moss'],
  ['wide letters', 'river ｌｏｖｅｌａｃｅ moss'],
  ['letters of another script', 'river lоvelасe moss'],
  ['invisible characters', 'river love\u200Blace moss'],
])('finds %s', (_what, password) => {
  expect(containsContextWord(password, owner)).toBe(true)
})

it.each([
  ['unrelated words', 'heron-sifts-41-pebbles'],
  ['words of fewer than four characters', 'ada drinks milk, ltd'],
  ['the domain of the e-mail address', 'two poets on a boat'],
])('ignores %s', (_what, password) => {
  expect(containsContextWord(password, owner)).toBe(false)
})

it('finds nothing for an owner without names', () => {
  const nobody = { username: '', name: '', email: '', clientName: '', clientCode: '' }
  expect(containsContextWord('heron-sifts-41-pebbles', nobody)).toBe(false)
})
