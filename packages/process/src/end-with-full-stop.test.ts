import { expect, it } from '@jest/globals'
import { asSentence } from './end-with-full-stop.ts'

it.each([
  ['relation "x" does not exist', 'relation "x" does not exist.'],
  ['Invalid object name.', 'Invalid object name.'],
  ['It does not exist..', 'It does not exist.'],
  ['Is it there?\n', 'Is it there?'],
  ['And so on...', 'And so on...'],
])('%j becomes a sentence', (text, sentence) => {
  expect(asSentence(text)).toBe(sentence)
})
