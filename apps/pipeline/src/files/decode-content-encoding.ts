import type { IncomingHttpHeaders } from 'node:http'
import { type Gunzip, type ZstdDecompress, constants, createGunzip, createZstdDecompress } from 'node:zlib'
import { Problem, problems } from '@sluice/http-server'

type BodyEncoding = 'gzip' | 'zstd'
type BodyDecoder = Gunzip | ZstdDecompress

const encodingsByName: Readonly<Record<string, BodyEncoding | undefined>> = {
  gzip: 'gzip',
  'x-gzip': 'gzip',
  zstd: 'zstd',
}

interface DecodingLimits {
  /** The maximum size of the compressed body in bytes. */
  receivedBytes: number
  /** The maximum ratio of decompressed to received bytes. It applies from `ratioFrom` decompressed bytes on. */
  ratio: number
  ratioFrom: number
}

/**
 * The base-2 logarithm of the largest window in bytes that RFC 9659 allows for zstd over HTTP. Each decoder keeps its
 * window in memory.
 */
const maxZstdWindowLog = 23

/** The maximum number of frames in a body. Even an empty frame takes a decoder and time on the main thread. */
const maxFrames = 10_000

const chunkSize = 64 * 1024
const createDecoder: Record<BodyEncoding, () => BodyDecoder> = {
  gzip: () => createGunzip({ chunkSize }),
  zstd: () => createZstdDecompress({ chunkSize, params: { [constants.ZSTD_d_windowLogMax]: maxZstdWindowLog } }),
}

/**
 * Returns the compression of a body; undefined for an uncompressed body. Throws 415 for other encodings, and for
 * several at once.
 */
export function findBodyEncoding({ 'content-encoding': header }: IncomingHttpHeaders): BodyEncoding | undefined {
  const name = header?.trim().toLowerCase() ?? ''
  if (name === '' || name === 'identity') return undefined
  const encoding = Object.hasOwn(encodingsByName, name) ? encodingsByName[name] : undefined
  if (encoding) return encoding
  throw new Problem(415, 'unsupported-media-type', 'The request body has the wrong media type.', {
    detail:
      'Send it with "Content-Encoding: gzip", with "Content-Encoding: zstd", or as plain bytes without this header.',
    headers: { 'Accept-Encoding': 'gzip, zstd' },
  })
}

/**
 * Yields the decompressed bytes of a body, which may consist of several gzip members or zstd frames. Needs memory for
 * one chunk and the decoder's window. Throws 400 if the bytes are damaged, truncated or not in this encoding. Throws
 * 413 if the body expands too far, is larger than `receivedBytes`, or has more than 10,000 zstd frames.
 */
export async function* decodeBody(
  chunks: AsyncIterable<Buffer>,
  encoding: BodyEncoding,
  { receivedBytes, ratio, ratioFrom }: DecodingLimits,
): AsyncGenerator<Buffer> {
  let receivedCount = 0
  let decodedCount = 0
  const frames = new FrameSequenceDecoder(encoding)
  try {
    for await (const chunk of chunks) {
      receivedCount += chunk.length
      // Check the received bytes too: empty gzip members expand to nothing, so the decompressed size does not limit the
      // body.
      if (receivedCount > receivedBytes) throw problems.tooLarge(receivedBytes)
      for await (const piece of frames.decode(chunk)) {
        decodedCount += piece.length
        const isRatioChecked = decodedCount > ratioFrom
        if (isRatioChecked && decodedCount > receivedCount * ratio) throw expandsTooFar(encoding, ratio)
        yield piece
      }
    }
    yield* frames.end()
  } catch (error) {
    throw isDecoderError(error) ? damagedBody(encoding, error) : error
  } finally {
    frames.close()
  }
}

/**
 * Decodes a sequence of frames with a decoder for each, because the zstd decoder of Node.js stops at the end of a frame
 * and discards the bytes after it.
 */
class FrameSequenceDecoder {
  readonly #encoding: BodyEncoding
  #frame: FrameDecoder
  #frameCount = 1

  constructor(encoding: BodyEncoding) {
    this.#encoding = encoding
    this.#frame = new FrameDecoder(createDecoder[encoding]())
  }

  /** Yields the bytes that a chunk produces. The chunk may contain the end of a frame, and further frames. */
  async *decode(chunk: Buffer): AsyncGenerator<Buffer> {
    let rest = chunk
    while (rest.length > 0) {
      yield* this.#frame.decode(rest)
      rest = this.#frame.unread(rest)
      if (rest.length > 0) this.#startFrame()
    }
  }

  /** Yields the last bytes of the body. Throws an error of the decoder if the last frame is incomplete. */
  end(): AsyncGenerator<Buffer> {
    return this.#frame.decode(undefined)
  }

  close(): void {
    this.#frame.close()
  }

  #startFrame(): void {
    this.#frame.close()
    this.#frameCount += 1
    if (this.#frameCount > maxFrames) throw tooManyFrames(this.#encoding)
    this.#frame = new FrameDecoder(createDecoder[this.#encoding]())
  }
}

/** Decodes chunks one at a time, so that the bytes that the decoder has consumed are known for each chunk. */
class FrameDecoder {
  readonly #decoder: BodyDecoder
  /** The number of bytes that the decoder had consumed before the current chunk. */
  #before = 0
  #ended = false
  #failure: Error | undefined
  #wake = () => {}

  constructor(decoder: BodyDecoder) {
    this.#decoder = decoder
    decoder.on('readable', () => this.#wake())
    decoder.on('end', () => {
      this.#ended = true
      this.#wake()
    })
    decoder.on('error', (error) => {
      this.#failure = error
      this.#wake()
    })
  }

  /** Yields the bytes that the decoder produces from a chunk. Pass undefined at the end of the body. */
  async *decode(chunk: Buffer | undefined): AsyncGenerator<Buffer> {
    this.#before = this.#decoder.bytesWritten
    let isRead = false
    const onRead = () => {
      isRead = true
      this.#wake()
    }
    if (chunk) this.#decoder.write(chunk, onRead)
    else this.#decoder.end()
    for (;;) {
      const woken = new Promise<void>((resolve) => (this.#wake = resolve))
      const piece = this.#decoder.read() as Buffer | null
      if (this.#failure) throw this.#failure
      if (piece) yield piece
      else if (this.#ended || isRead) return
      else await woken
    }
  }

  /** Returns the part of the last chunk that the decoder did not consume. */
  unread(chunk: Buffer): Buffer {
    return chunk.subarray(this.#decoder.bytesWritten - this.#before)
  }

  close(): void {
    this.#decoder.destroy()
  }
}

/**
 * Returns whether an error comes from a decoder. Their codes are such as Z_DATA_ERROR and ZSTD_error_prefix_unknown.
 */
const isDecoderError = (error: unknown): boolean => /^(Z_|ZSTD_error_)/.test(String((error as { code?: string }).code))

function damagedBody(encoding: BodyEncoding, cause: unknown): Problem {
  const { code } = cause as { code?: string }
  return new Problem(400, 'unreadable-body', 'The request body cannot be read.', {
    detail: `${describeDecoderError(code, encoding)} Nothing was stored; any earlier file stays.`,
    cause,
  })
}

function describeDecoderError(code: string | undefined, encoding: BodyEncoding): string {
  switch (code) {
    case 'ZSTD_error_frameParameter_windowTooLarge':
      return 'The body needs more than 8 MB of memory to decode. Compress it with level 19 or lower, and without --long or --ultra.'
    case 'Z_BUF_ERROR':
      return `The ${encoding} body ends too early. Send the whole file again.`
    default:
      return `The body is damaged or not in the format of its Content-Encoding, ${encoding}. Send the file again, or leave out the header.`
  }
}

const expandsTooFar = (encoding: BodyEncoding, ratio: number) =>
  new Problem(413, 'too-large', 'The request body is too large.', {
    detail: `The ${encoding} body expands to more than ${ratio} times its size. Send the file without Content-Encoding; any earlier file stays.`,
  })

const tooManyFrames = (encoding: BodyEncoding) =>
  new Problem(413, 'too-large', 'The request body is too large.', {
    detail: `The ${encoding} body has more than ${maxFrames} frames. Compress the file as one frame, or send it without Content-Encoding; any earlier file stays.`,
  })
