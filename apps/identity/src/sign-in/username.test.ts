import { expect, it } from '@jest/globals'
import { toSkeleton, parseUsername } from './username.ts'

it.each([
  ['Admin', 'admin'],
  ['ＡＤＭＩＮ', 'admin'],
  ['ad\u00admin', 'admin'],
  ['adm\u200bin', 'admin'],
  ['ﬁsher', 'fisher'],
  ['Straße', 'STRASSE'],
  ['e\u0301va', 'éva'],
  ['ΣΟΦΟΣ', 'σοφος'],
  // Cyrillic, Greek, Armenian and Latin letters that look like Latin letters.
  ['сосо', 'coco'],
  ['аdmin', 'admin'],
  ['ονου', 'ovou'],
  ['օհս', 'ohu'],
  ['İstanbul', 'istanbul'],
  ['ıstanbul', 'istanbul'],
  // Small capitals, phonetic letters, click letters, and scripts with letters that look like Latin capitals.
  ['ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢ', 'abcdefghijklmnopqrstuvwyz'],
  ['ꜱᴜᴘᴘᴏʀᴛ', 'support'],
  ['ǀuǁaby', 'lullaby'],
  ['ᎠᎡᎪᎷᎪ', 'drama'],
  ['ꓢꓳꓡꓳ', 'solo'],
  // Dashes and apostrophes.
  ['jean\u2010luc', 'jean-luc'],
  ['jean\u2011luc', 'jean-luc'],
  ['jean\u2013luc', 'jean-luc'],
  ['jean\u2212luc', 'jean-luc'],
  ['o\u2019neill', "o'neill"],
  ['o\u02bcneill', "o'neill"],
  ['o\u02bbneill', "o'neill"],
  ['o\ua78cneill', "o'neill"],
  ['o`neill', "o'neill"],
  ['a|b', 'alb'],
])('%s and %s count as the same username', (a, b) => {
  expect(toSkeleton(a)).toBe(toSkeleton(b))
})

it('a username keeps its case, and is composed (NFC)', () => {
  expect(parseUsername('E\u0301va.Müller+1@example.org')).toBe('Éva.Müller+1@example.org')
})

it.each([
  'anna1 annal',
  'о0 ol',
  'Пётр Nëtp',
  'Μαρία Mapia',
  'user-1 user_1',
  "o'neill oneill",
  'jean-luc jeanluc',
  'ꭰꭱꭲ ᏣᎳᎩ',
])('usernames that people can distinguish count as different: %s', (pair) => {
  const [a, b] = pair.split(' ')
  expect(toSkeleton(a!)).not.toBe(toSkeleton(b!))
})

it.each([
  'Ñandú',
  'Nguyễn',
  'Пётр',
  'Μαρία',
  'مريم',
  'אסתר',
  '田中さん',
  '김철수',
  '陳大文',
  'മലയാളം',
  'ßüß',
  'ߒߞߏ',
  '𞤀𞤣𞤤𞤢𞤥',
  'አበበ',
  'ᏣᎳᎩ',
  'Ɛkow-Ŋɔŋɔ',
  'Kāʻiulani',
  'O\u2019Neill',
  'Col·lell',
  'ada.l-1_x@example.org',
])('the username %s is accepted', (username) => expect(parseUsername(username)).toBe(username.normalize('NFC')))

it.each([
  ['Latin with one Cyrillic letter', 'аdmin'],
  ['Greek with Latin', 'αdmin'],
  ['Latin with Arabic digits', 'a١'],
  ['Hebrew with Latin', 'אdmin'],
  ['Hangul with Kana', '김さん'],
  ['a historic script', 'ᚠᚢᚦ'],
  ['an invisible character', 'ad\u200bmin'],
  ['a bidirectional control character', '\u202enimda'],
  ['a space', 'ad min'],
  ['a line break', 'ad\nmin'],
  ['small capitals', 'ꜱᴜᴘᴘᴏʀᴛ'],
  ['phonetic small capitals', 'ʜɪʟ'],
  ['a click letter', 'ǀena'],
  ['a phonetic letter', 'ꭎna'],
  ['a symbol', 'a∣b'],
  ['a separate accent', 'o´neill'],
  ['an emoji', 'ada😀'],
  ['a private-use character', '\ue000admin'],
])('a username with %s is refused', (_what, username) => {
  expect(() => parseUsername(username)).toThrow(/A username/)
})
