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
export const withLatinTwins = (text: string): string =>
  keys.reduce(
    (plain, [kind, key]) => plain.replace(kind, key),
    [...text].map((letter) => twins.get(letter) ?? letter).join(''),
  )
