/**
 * Small letters of other scripts that many typefaces draw like a Latin one, each before its twin. Only letters: nobody's
 * "anna1" is kept from being called so because there is an "annal". Chosen from Unicode's confusables (UTS 39).
 */
const pairs = [
  // Cyrillic
  'аa сc ԁd еe һh іi јj ӏl оo рp ԛq ѕs ԝw хx уy ѵv ӕæ ӓä ӧö ӱÿ ёë їï',
  // Greek
  'αa ϲc ϳj ιi νv οo ρp σo υu γy άá ίí όó ύú ϊï ϋü',
  // Armenian
  'օo ոn սu հh յj զq ցg',
  // Latin letters that are drawn like their plain sisters
  'ɑa ɡg ıi ɩi ʋu',
].join(' ')

const twins = new Map(pairs.split(' ').map((pair) => [...pair] as [string, string]))

/** Each letter as the Latin one that it looks like, where there is one. */
export const withLatinTwins = (text: string): string => [...text].map((letter) => twins.get(letter) ?? letter).join('')
