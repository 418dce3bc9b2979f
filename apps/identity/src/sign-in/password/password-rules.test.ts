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
  ['a part of a hyphenated name', 'kingfisher over moss'],
  ['a name without its accent', 'say grace every day'],
  ['a name with an additional accent', 'say gráçe every day'],
  ['a word of the local part of the e-mail address', 'the-countess-of-tea'],
  ['the whole local part of the e-mail address', 'xx countess.ada+x xx'],
  ['a word of the organisation', 'steam engines of old'],
  ['the code of the organisation', 'route-ae-7000-north'],
  ['the name of the product', 'open the sluice gate'],
  ['digits for letters', '4n4lyt1c4l-moss-and-tea'],
  ['signs for letters', 'river-L0ve|@ce-moss'],
  ['full-width letters', 'river ｌｏｖｅｌａｃｅ moss'],
  ['letters of another script', 'river lоvelасe moss'],
  ['invisible characters', 'river love\u200Blace moss'],
])('a password that contains %s is found', (_what, password) => {
  expect(containsContextWord(password, owner)).toBe(true)
})

it.each([
  ['unrelated words', 'heron-sifts-41-pebbles'],
  ['words of fewer than four characters', 'ada drinks milk, ltd'],
  ['the domain of the e-mail address', 'two poets on a boat'],
])('a password that contains only %s is not found', (_what, password) => {
  expect(containsContextWord(password, owner)).toBe(false)
})

it('no password is found for a user without any name', () => {
  const nameless = { username: '', name: '', email: '', clientName: '', clientCode: '' }
  expect(containsContextWord('heron-sifts-41-pebbles', nameless)).toBe(false)
})
