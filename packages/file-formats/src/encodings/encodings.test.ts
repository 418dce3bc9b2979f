import { TextDecoder } from 'node:util'
import { afterAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { uploadFolder } from '../upload/test/open-upload-from-bytes.ts'
import { convertToUtf8, createDecoder } from './convert-to-utf8.ts'
import { textEncoding } from './text-encoding.ts'

const folder = uploadFolder()
afterAll(() => folder[Symbol.dispose]())

const swapped = (text: string) => Buffer.from(text, 'utf16le').swap16()

/** Decodes pieces of any length, cut from the bytes in turn. */
function inPieces(encoding: string, bytes: Buffer, lengths: number[]): Buffer {
  const decoder = createDecoder(encoding)
  const parts: Buffer[] = []
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const end = at + Math.max(1, lengths[turn % lengths.length] ?? 1)
    parts.push(Buffer.from(decoder.decode(bytes.subarray(at, end))))
    at = end
  }
  parts.push(Buffer.from(decoder.end()))
  return Buffer.concat(parts)
}

const pieces = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 })
const anyText = fc.string({ unit: 'grapheme', maxLength: 60 })

describe('UTF-16', () => {
  it('is decoded to the same text for any division into chunks', () => {
    fc.assert(
      fc.property(anyText, pieces, (text, lengths) => {
        const little = Buffer.from(text, 'utf16le')
        expect(inPieces('utf-16le', little, lengths)).toEqual(Buffer.from(text))
        expect(inPieces('utf-16be', swapped(text), lengths)).toEqual(Buffer.from(text))
      }),
    )
  })

  it('keeps unpaired surrogates and half a code unit as invalid bytes, and decodes the rest', () => {
    const units = fc.array(fc.constantFrom(0x61, 0xe9, 0xd83d, 0xde00, 0x20ac), { maxLength: 30 })
    fc.assert(
      fc.property(units, pieces, fc.boolean(), (codes, lengths, half) => {
        const text = String.fromCharCode(...codes)
        const bytes = Buffer.concat([Buffer.from(text, 'utf16le'), Buffer.alloc(half ? 1 : 0, 0x61)])
        const decoded = inPieces('utf-16le', bytes, lengths)
        const expected = [...text].map((one) => (one.isWellFormed() ? Buffer.from(one) : surrogate(one)))
        expect(decoded).toEqual(Buffer.concat([...expected, Buffer.alloc(half ? 1 : 0, 0xff)]))
      }),
    )
  })

  it('is detected by its byte order mark or by its zero bytes', async () => {
    const text = 'name,größe\nAnna,1\n😀,2\n'
    for (const bytes of [
      Buffer.from(`\ufeff${text}`, 'utf16le'),
      swapped(`\ufeff${text}`),
      Buffer.from(text, 'utf16le'),
      swapped(text),
    ]) {
      const opened = await folder.open('a.csv', bytes)
      expect(opened.text).toBe(text)
      expect(opened.how).toMatch(/UTF-16(LE|BE) text as its (byte order mark says|zero bytes show)/)
    }
  })

  it('is not detected in UTF-8 text with a few NUL characters', () => {
    const start = Buffer.from(`a,b\n${'1,\0\n'.repeat(3)}${'long,enough\n'.repeat(20)}`)
    expect(textEncoding(start, undefined, 'a.csv').encoding).toBe('utf-8')
  })
})

const surrogate = (half: string) => {
  const unit = half.charCodeAt(0)
  return Buffer.of(0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 63), 0x80 | (unit & 63))
}

describe('configured encodings', () => {
  it('decode every byte like TextDecoder, except for undefined bytes of windows encodings', () => {
    for (const label of [
      'iso-8859-1',
      'iso-8859-2',
      'iso-8859-15',
      'windows-1250',
      'windows-1251',
      'windows-1252',
      'koi8-r',
      'macintosh',
    ]) {
      const { encoding } = textEncoding(Buffer.alloc(0), label, 'a.csv')
      const decoder = new TextDecoder(label)
      for (let byte = 0; byte < 256; byte++) {
        const decoded = Buffer.from(createDecoder(encoding).decode(Buffer.of(byte)))
        const character = decoder.decode(Uint8Array.of(byte))
        const open = encoding.startsWith('windows') && byte > 127 && character < '\u00a0'
        expect([label, byte, decoded]).toEqual([label, byte, open ? Buffer.of(0xff) : Buffer.from(character)])
      }
    }
  })

  it('decode the euro sign in ISO-8859-15 and windows-1252', async () => {
    expect((await folder.open('a.csv', Buffer.of(0xa4, 0x0a), { options: { encoding: 'ISO-8859-15' } })).text).toBe(
      '€\n',
    )
    expect((await folder.open('a.csv', Buffer.of(0x80, 0x0a), { options: { encoding: 'windows-1252' } })).text).toBe(
      '€\n',
    )
  })

  it('decode Shift JIS for any division into chunks, and keep invalid bytes invalid', () => {
    const shiftJis = Buffer.from([0x93, 0xfa, 0x96, 0x7b, 0x2c, 0x31, 0x0a])
    fc.assert(
      fc.property(pieces, (lengths) => {
        expect(inPieces('shift_jis', shiftJis, lengths).toString()).toBe('日本,1\n')
      }),
    )
    expect(inPieces('shift_jis', Buffer.from([0x61, 0xff, 0x62, 0x93]), [1])).toEqual(Buffer.of(0x61, 0xff, 0x62, 0xff))
  })

  it('are overridden by a byte order mark', async () => {
    const opened = await folder.open('a.csv', Buffer.from('\ufeffgröße\n', 'utf16le'), {
      options: { encoding: 'windows-1252' },
    })
    expect(opened.text).toBe('größe\n')
  })

  it('are rejected if they are unknown, as is text in UTF-32', async () => {
    await expect(folder.open('a.csv', 'a\n', { options: { encoding: 'klingon' } })).rejects.toMatchObject({
      code: 'ENCODING_NOT_KNOWN',
    })
    for (const bytes of [Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0]), Buffer.from('a\0\0\0,\0\0\0b\0\0\0')]) {
      await expect(folder.open('a.csv', bytes)).rejects.toMatchObject({ code: 'ENCODING_NOT_SUPPORTED' })
    }
  })
})

describe('UTF-8', () => {
  it('is read in place even if it is invalid', async () => {
    const bytes = Buffer.concat([Buffer.from('\ufeffa,b\n'), Buffer.of(0xe4, 0x2c, 0x31, 0x0a)])
    const opened = await folder.open('a.csv', bytes, { options: { encoding: 'UTF-8' } })
    expect(opened).toMatchObject({ inPlace: true, format: 'DELIMITED', bytes, rejected: [] })
  })

  it('is written without its byte order mark if it is converted', async () => {
    const source = {
      async *chunks() {
        yield* [0xef, 0xbb, 0xbf, 0x61].map((byte) => Buffer.of(byte))
      },
    }
    const parts = await Array.fromAsync(convertToUtf8(source, { encoding: 'utf-8', skip: 3 }).chunks())
    expect(Buffer.concat(parts).toString()).toBe('a')
  })
})
