import { problems } from '@sluice/http'

/** Characters that are not seen, or that change how their neighbours are seen. */
const invisible = /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]/gu

/**
 * Letters that only linguists write, whole blocks of small capitals and of phonetics among them, and symbols that no keyboard
 * has. What is left of Latin is about what UAX 31 recommends for identifiers.
 */
const technical =
  /[\u01c0-\u01c3\u0262\u026a\u0274\u0276\u0280\u0281\u028f\u0299\u029b\u029c\u029f\u1d00-\u1dbf\ua720-\ua78a\ua78d-\ua7ff\uab30-\uab6f\u{10780}-\u{107bf}\u{1df00}-\u{1dfff}]|(?![\0-\x7f])\p{S}/u

/**
 * A username as it is compared: two that people cannot tell apart by case, width, composition, invisible characters or
 * letters of another script that look alike have one skeleton.
 */
export function skeletonOf(username: string): string {
  // The Turkish İ becomes an i with a dot above it, which looks like an i.
  const folded = username
    .normalize('NFKC')
    .replace(invisible, '')
    .toUpperCase()
    .toLowerCase()
    .replaceAll('i\u0307', 'i')
  return withLatinTwins(folded.normalize('NFKC').trim())
}

/** A username as it is stored. Refuses what cannot be typed or read aloud: spaces, invisible characters, mixed scripts. */
export function usernameOf(given: string): string {
  const username = given.normalize('NFC')
  if (/[\s\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}]/u.test(username) || username.search(invisible) >= 0)
    throw problems.refused('/username', 'A username has no spaces and no invisible characters.')
  if (technical.test(username))
    throw problems.refused('/username', 'A username has no phonetic letters, and of symbols those of a keyboard only.')
  if (hasUnusedScript(username) || !isOneScript(username.normalize('NFKC')))
    throw problems.refused('/username', 'A username is written in one script: this one mixes letters of several.')
  return username
}

/**
 * Small letters that many typefaces draw like another Latin one, each before its twin. No digits: nobody's
 * "anna1" is kept from being called so because there is an "annal". Chosen from Unicode's confusables (UTS 39).
 */
const pairs = [
  // Cyrillic
  'аa сc ԁd еe һh іi јj ӏl оo рp ԛq ѕs ԝw хx уy ѵv ӕæ ӓä ӧö ӱÿ ёë їï',
  // Greek
  'αa ϲc ϳj ιi νv οo ρp σo υu γy άá ίí όó ύú ϊï ϋü',
  // Armenian
  'օo ոn սu հh յj զq ցg',
  // Latin letters that are drawn like their plain sisters: of alphabets, small capitals, of phonetics, clicks
  'ɑa ɡg ıi ɩi ʋu ȷj ƿp ƅb ɯw',
  'ᴀa ʙb ᴄc ᴅd ᴇe ꜰf ɢg ʜh ɪi ᴊj ᴋk ʟl ᴍm ɴn ᴏo ᴘp ꞯq ʀr ꜱs ᴛt ᴜu ᴠv ᴡw ʏy ᴢz ᴁæ ɶœ',
  'ᴑo ꬲe ꬽo ꭇr ꭈr ꭎu ꭒu ꞟu ᵹg ꞙf ǀl ǁll ǃ!',
  // Cherokee
  'ꭰd ꭱr ꭲt ꭵi ꭺa ꭻj ꭼe ꮃw ꮇm ꮋh ꮍy ꮐg ꮒh ꮓz ꮟb ꮢr ꮤw ꮥs ꮩv ꮪs ꮮl ꮯc ꮲp ꮶk ꮷd ᏻg ᏼb',
  // Lisu
  'ꓐb ꓑp ꓒd ꓓd ꓔt ꓖg ꓗk ꓙj ꓚc ꓜz ꓝf ꓟm ꓠn ꓡl ꓢs ꓣr ꓦv ꓧh ꓪw ꓫx ꓬy ꓮa ꓰe ꓲi ꓳo ꓴu',
].join(' ')

/** Letters come in small, as they are compared, whichever case is the first in Unicode. */
const small = (letter: string): string => letter.toUpperCase().toLowerCase()

const twins = new Map(
  pairs.split(' ').map((pair): [string, string] => {
    const [letter = '', ...twin] = [...pair]
    return [small(letter), twin.join('')]
  }),
)

/** Dashes, apostrophes and low lines of every kind, as keyboards have them. */
const keys: [RegExp, string][] = [
  [/[\p{Pd}\u02d7\u2043\u2212\u2796]/gu, '-'],
  [
    /[`\u00b4\u02b9\u02bb-\u02bf\u02c8\u02ca\u02cb\u055a\u05f3\u07f4\u07f5\u2018\u2019\u201b\u2032\u2035\ua78b\ua78c]/gu,
    "'",
  ],
  [/\u02cd/gu, '_'],
  [/[|\u2223\u2758]/gu, 'l'],
]

/** Each letter as the Latin one that it looks like, where there is one, and dashes and apostrophes as keyboards have them. */
const withLatinTwins = (text: string): string =>
  keys.reduce(
    (plain, [kind, key]) => plain.replace(kind, key),
    [...text].map((letter) => twins.get(letter) ?? letter).join(''),
  )

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
function isOneScript(text: string): boolean {
  const letters = [...text].filter((letter) => !inAnyScript.test(letter))
  const of = (letter: string) => scripts.filter((script) => extensions.get(script)!.test(letter))
  const candidates = [...scripts.map((script) => [script]), ...together]
  return candidates.some((allowed) => letters.every((letter) => of(letter).some((script) => allowed.includes(script))))
}

/** Does it hold a letter of no script that is in use? */
const hasUnusedScript = (text: string): boolean =>
  [...text].some((letter) => !shared.test(letter) && ![...extensions.values()].some((script) => script.test(letter)))
