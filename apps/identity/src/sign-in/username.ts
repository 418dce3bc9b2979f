import { problems } from '@sluice/http-server'

/** Matches characters that are invisible or change how other characters appear. */
const invisibleCharacters = /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]/gu

/**
 * Matches letters that only linguists write, including the Unicode blocks of small capitals and phonetic letters, and
 * symbols that no keyboard has. The remaining Latin letters are nearly those that UAX 31 recommends for identifiers.
 */
const technicalLetters =
  /[\u01c0-\u01c3\u0262\u026a\u0274\u0276\u0280\u0281\u028f\u0299\u029b\u029c\u029f\u1d00-\u1dbf\ua720-\ua78a\ua78d-\ua7ff\uab30-\uab6f\u{10780}-\u{107bf}\u{1df00}-\u{1dfff}]|(?![\0-\x7f])\p{S}/u

/**
 * Returns the skeleton of a username for comparisons. Two usernames have the same skeleton if they differ only in case,
 * width, composition, invisible characters, or letters of another script that look alike.
 */
export function toSkeleton(username: string): string {
  // Some letters have several small forms, such as ς and σ; converting to capitals first unifies them. The Turkish İ
  // becomes an i with a combining dot, which looks like an i.
  const smallLetters = username
    .normalize('NFKC')
    .replace(invisibleCharacters, '')
    .toUpperCase()
    .toLowerCase()
    .replaceAll('i\u0307', 'i')
  return replaceLookAlikes(smallLetters.normalize('NFKC').trim())
}

/** Returns the username as it is stored. Throws 422 for spaces, invisible characters and mixed scripts. */
export function parseUsername(text: string): string {
  const username = text.normalize('NFC')
  const hasSpaceOrControlCharacter = /[\s\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}]/u.test(username)
  if (hasSpaceOrControlCharacter || username.search(invisibleCharacters) >= 0)
    throw problems.refused('/username', 'A username must not contain spaces or invisible characters.')
  if (technicalLetters.test(username))
    throw problems.refused(
      '/username',
      'A username must not contain phonetic letters or special symbols, such as ʜ or ™. Use ordinary letters and digits.',
    )
  if (hasLetterOfDeadScript(username) || !isOneScript(username.normalize('NFKC')))
    throw problems.refused('/username', 'A username must not mix letters of several scripts.')
  return username
}

/**
 * Pairs of a small letter and the Latin letter that it resembles in many typefaces, selected from Unicode's confusables
 * (UTS 39). The list has no digits, so that "anna1" is available even if "annal" exists.
 */
const confusablePairs = [
  // Cyrillic
  'аa сc ԁd еe һh іi јj ӏl оo рp ԛq ѕs ԝw хx уy ѵv ӕæ ӓä ӧö ӱÿ ёë їï',
  // Greek
  'αa ϲc ϳj ιi νv οo ρp σo υu γy άá ίí όó ύú ϊï ϋü',
  // Armenian
  'օo ոn սu հh յj զq ցg',
  // Latin letters that look like basic ones: from other alphabets, small capitals, phonetic letters, clicks
  'ɑa ɡg ıi ɩi ʋu ȷj ƿp ƅb ɯw',
  'ᴀa ʙb ᴄc ᴅd ᴇe ꜰf ɢg ʜh ɪi ᴊj ᴋk ʟl ᴍm ɴn ᴏo ᴘp ꞯq ʀr ꜱs ᴛt ᴜu ᴠv ᴡw ʏy ᴢz ᴁæ ɶœ',
  'ᴑo ꬲe ꬽo ꭇr ꭈr ꭎu ꭒu ꞟu ᵹg ꞙf ǀl ǁll ǃ!',
  // Cherokee
  'ꭰd ꭱr ꭲt ꭵi ꭺa ꭻj ꭼe ꮃw ꮇm ꮋh ꮍy ꮐg ꮒh ꮓz ꮟb ꮢr ꮤw ꮥs ꮩv ꮪs ꮮl ꮯc ꮲp ꮶk ꮷd ᏻg ᏼb',
  // Lisu
  'ꓐb ꓑp ꓒd ꓓd ꓔt ꓖg ꓗk ꓙj ꓚc ꓜz ꓝf ꓟm ꓠn ꓡl ꓢs ꓣr ꓦv ꓧh ꓪw ꓫx ꓬy ꓮa ꓰe ꓲi ꓳo ꓴu',
].join(' ')

/** Returns the small form of a letter for comparisons, in the same way as `toSkeleton`. */
const toSmallLetter = (letter: string): string => letter.toUpperCase().toLowerCase()

const confusableMap = new Map(
  confusablePairs.split(' ').map((pair): [string, string] => {
    const [letter = '', ...twin] = [...pair]
    return [toSmallLetter(letter), twin.join('')]
  }),
)

/** Maps all kinds of dashes, apostrophes and underscores to those on keyboards. */
const keyboardCharacters: [RegExp, string][] = [
  [/[\p{Pd}\u02d7\u2043\u2212\u2796]/gu, '-'],
  [
    /[`\u00b4\u02b9\u02bb-\u02bf\u02c8\u02ca\u02cb\u055a\u05f3\u07f4\u07f5\u2018\u2019\u201b\u2032\u2035\ua78b\ua78c]/gu,
    "'",
  ],
  [/\u02cd/gu, '_'],
  [/[|\u2223\u2758]/gu, 'l'],
]

/** Replaces letters by the Latin letters that they resemble, and dashes and apostrophes by those on keyboards. */
function replaceLookAlikes(text: string): string {
  let plain = [...text].map((letter) => confusableMap.get(letter) ?? letter).join('')
  for (const [lookAlikes, key] of keyboardCharacters) plain = plain.replace(lookAlikes, key)
  return plain
}

/** The scripts that living languages use, by Unicode's names. Usernames may not contain letters of other scripts. */
const scriptNames = [
  ['Latin', 'Greek', 'Cyrillic', 'Armenian', 'Georgian', 'Hebrew', 'Arabic', 'Syriac', 'Thaana', 'Nko', 'Adlam'],
  ['Devanagari', 'Bengali', 'Gurmukhi', 'Gujarati', 'Oriya', 'Tamil', 'Telugu', 'Kannada', 'Malayalam', 'Sinhala'],
  ['Thai', 'Lao', 'Tibetan', 'Myanmar', 'Khmer', 'Ethiopic', 'Tifinagh', 'Vai', 'Cherokee', 'Mongolian', 'Javanese'],
  ['Canadian_Aboriginal', 'Han', 'Hiragana', 'Katakana', 'Bopomofo', 'Hangul', 'Yi', 'Ol_Chiki', 'Balinese', 'Lisu'],
].flat()

/** Scripts that a single language combines in one word (UTS 39, level highly restrictive, without Latin). */
const combinableScripts = [
  ['Han', 'Hiragana', 'Katakana'],
  ['Han', 'Bopomofo'],
  ['Han', 'Hangul'],
]

const scriptExtensionPatterns = new Map(scriptNames.map((script) => [script, new RegExp(`\\p{scx=${script}}`, 'u')]))
const sharedScriptPattern = /[\p{sc=Common}\p{sc=Inherited}]/u
const inAnyScript = /\p{scx=Common}|\p{scx=Inherited}/u

/** Returns whether a single language can write the whole text. Digits and punctuation belong to every language. */
function isOneScript(text: string): boolean {
  const letters = [...text].filter((letter) => !inAnyScript.test(letter))
  const isIn = (letter: string, script: string) => scriptExtensionPatterns.get(script)!.test(letter)
  const writingSystems = [...scriptNames.map((script) => [script]), ...combinableScripts]
  return writingSystems.some((scripts) => letters.every((letter) => scripts.some((script) => isIn(letter, script))))
}

/** Returns whether the text contains a letter outside the scripts of `scriptNames`. */
const hasLetterOfDeadScript = (text: string): boolean =>
  [...text].some(
    (letter) =>
      !sharedScriptPattern.test(letter) && ![...scriptExtensionPatterns.values()].some((script) => script.test(letter)),
  )
