/** Scripts that people write names with today, by Unicode's names. What is in none of them is no letter of a username. */
const scripts = [
  ['Latin', 'Greek', 'Cyrillic', 'Armenian', 'Georgian', 'Hebrew', 'Arabic', 'Syriac', 'Thaana', 'Nko', 'Adlam'],
  ['Devanagari', 'Bengali', 'Gurmukhi', 'Gujarati', 'Oriya', 'Tamil', 'Telugu', 'Kannada', 'Malayalam', 'Sinhala'],
  ['Thai', 'Lao', 'Tibetan', 'Myanmar', 'Khmer', 'Ethiopic', 'Tifinagh', 'Vai', 'Cherokee', 'Mongolian', 'Javanese'],
  ['Canadian_Aboriginal', 'Han', 'Hiragana', 'Katakana', 'Bopomofo', 'Hangul', 'Yi', 'Ol_Chiki', 'Balinese', 'Lisu'],
].flat()

/** Scripts that one language writes in one word (UTS 39, highly restrictive, without Latin). */
const together = [
  ['Han', 'Hiragana', 'Katakana'],
  ['Han', 'Bopomofo'],
  ['Han', 'Hangul'],
]

const extensions = new Map(scripts.map((script) => [script, new RegExp(`\\p{scx=${script}}`, 'u')]))
const shared = /[\p{sc=Common}\p{sc=Inherited}]/u
const inAnyScript = /\p{scx=Common}|\p{scx=Inherited}/u

/** Can the whole text belong to one language's way of writing? Digits and punctuation belong to every one. */
export function isOneScript(text: string): boolean {
  const letters = [...text].filter((letter) => !inAnyScript.test(letter))
  const of = (letter: string) => scripts.filter((script) => extensions.get(script)!.test(letter))
  const candidates = [...scripts.map((script) => [script]), ...together]
  return candidates.some((allowed) => letters.every((letter) => of(letter).some((script) => allowed.includes(script))))
}

/** Does it hold a letter of no script that is in use? */
export const hasUnusedScript = (text: string): boolean =>
  [...text].some((letter) => !shared.test(letter) && ![...extensions.values()].some((script) => script.test(letter)))
