import type { ByteSource } from '../spool/byte-source.ts'
import type { Decoder } from './decoder.ts'
import { MultiByteDecoder } from './multi-byte.ts'
import { SingleByteDecoder } from './single-byte.ts'
import type { TextEncoding } from './text-encoding.ts'
import { Utf16Decoder } from './utf16.ts'

const multiByte = /^(gbk|gb18030|big5|euc-jp|iso-2022-jp|shift_jis|euc-kr)$/

/** `encoding` is a name that TextDecoder has for one that is not UTF-8. */
export function decoderOf(encoding: string): Decoder {
  if (encoding === 'utf-16le' || encoding === 'utf-16be') return new Utf16Decoder(encoding)
  return multiByte.test(encoding) ? new MultiByteDecoder(encoding) : new SingleByteDecoder(encoding)
}

/** A text as UTF-8, without its byte order mark. */
export function asUtf8(source: ByteSource, { encoding, skip }: Pick<TextEncoding, 'encoding' | 'skip'>): ByteSource {
  if (encoding === 'utf-8' && skip === 0) return source
  return { chunks: () => decode(source, encoding, skip) }
}

async function* decode(source: ByteSource, encoding: string, skip: number): AsyncGenerator<Buffer, void, void> {
  const decoder = encoding === 'utf-8' ? undefined : decoderOf(encoding)
  let left = skip
  for await (const chunk of source.chunks()) {
    const bytes = left === 0 ? chunk : chunk.subarray(left)
    left = Math.max(0, left - chunk.length)
    if (bytes.length > 0) yield decoder ? decoder.decode(bytes) : bytes
  }
  if (decoder) yield decoder.end()
}
