import { isUtf8 } from 'node:buffer'
import express, { type Request, type RequestHandler, type Response } from 'express'
import { problems } from './problem.ts'

/** The maximum bytes of a JSON body. A caller without a token sends only small bodies, such as a password. */
const bodyLimits = { known: 1_048_576, anonymous: 16_384 }

/** Bodies are not decompressed, because one compressed kilobyte could cost as much CPU time as a megabyte. */
const createJsonParser = (limit: number) =>
  express.json({ limit, inflate: false, strict: false, type: 'application/json', verify: assertPlainJson })
const jsonParsers = new Map<number, RequestHandler>()

/**
 * Reads and parses a JSON body into `request.body`. Runs after authorization, so that rejected callers cost no parsing.
 * `limit`, in bytes, replaces the default for the kind of caller. Throws problems: 400, 413, and 415 for a compressed
 * body.
 */
export async function readJsonBody(
  request: Request,
  response: Response,
  { sender, limit = bodyLimits[sender] }: { sender: keyof typeof bodyLimits; limit?: number | undefined },
): Promise<void> {
  const parse = jsonParsers.get(limit) ?? createJsonParser(limit)
  jsonParsers.set(limit, parse)
  await new Promise<void>((resolve, reject) => {
    parse(request, response, (error?: unknown) => (error === undefined ? resolve() : reject(error)))
  })
}

/** Rejects an encoding other than UTF-8, because the checks below inspect the raw bytes. */
function assertPlainJson(_request: unknown, _response: unknown, body: Buffer, charset: string): void {
  if (charset !== 'utf-8') throw problems.unsupportedMediaType('application/json in UTF-8')
  if (!isUtf8(body)) throw problems.unreadableBody('The body is not valid UTF-8.')
  if (containsNul(body)) throw problems.unreadableBody('The body contains a NUL character. Remove it.')
  if (isTooDeep(body)) throw problems.unreadableBody('The body nests deeper than 32 levels.')
  if (hasLoneSurrogate(body))
    throw problems.unreadableBody('The body contains half a surrogate pair (\\ud800 to \\udfff alone).')
}

/**
 * Returns whether JSON text contains a NUL character, raw or escaped, which PostgreSQL cannot store. Checked before the
 * text is parsed.
 */
export function containsNul(json: Buffer): boolean {
  if (json.includes(0)) return true
  // If the backslash before `u0000` is itself escaped, the text is not NUL.
  return json.includes(String.raw`\u0000`) && /(?<!\\)(?:\\\\)*\\u0000/.test(json.toString('latin1'))
}

/** Matches an escape of a JSON text, with the hexadecimal digits of `\u`. */
const escapePattern = /\\(?:u([\da-f]{4})|.)/gi

const firstHighSurrogate = 0xd800
const firstLowSurrogate = 0xdc00
const lastLowSurrogate = 0xdfff

/**
 * Returns whether JSON text in valid UTF-8 contains a lone surrogate, which PostgreSQL cannot store. Only an escape
 * such as `\ud83d` can produce one. Checks the text before it is parsed, because checking every parsed value takes a
 * hundred times as long.
 */
export function hasLoneSurrogate(json: Buffer): boolean {
  if (!json.includes(String.raw`\ud`) && !json.includes(String.raw`\uD`)) return false
  const text = json.toString('latin1')
  /** The position at which a low surrogate must start. Undefined if the last escape was not a high surrogate. */
  let expectedLowAt: number | undefined
  for (const { 0: escape, 1: hex, index } of text.matchAll(escapePattern)) {
    const codeUnit = hex === undefined ? 0 : Number.parseInt(hex, 16)
    const isHigh = codeUnit >= firstHighSurrogate && codeUnit < firstLowSurrogate
    const isLow = codeUnit >= firstLowSurrogate && codeUnit <= lastLowSurrogate
    const completesPair = isLow && index === expectedLowAt
    const isHighAlone = expectedLowAt !== undefined && !completesPair
    const isLowAlone = isLow && !completesPair
    if (isHighAlone || isLowAlone) return true
    expectedLowAt = isHigh ? index + escape.length : undefined
  }
  const endsWithHigh = expectedLowAt !== undefined
  return endsWithHigh
}

/**
 * The maximum nesting depth of a JSON body. No contract nests deeper, and validators do not exhaust the stack at this
 * depth.
 */
const maxDepth = 32

const quote = 0x22
const backslash = 0x5c
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d
/** Returns whether JSON text is nested deeper than `maxDepth`. Checks the text before it is parsed. */
export function isTooDeep(json: Uint8Array): boolean {
  let depth = 0
  let inString = false
  for (let position = 0; position < json.length; position++) {
    const byte = json[position]
    if (inString) {
      // Skips the character after a backslash, which cannot end the string.
      if (byte === backslash) position += 1
      else if (byte === quote) inString = false
    } else if (byte === quote) inString = true
    else if (byte === openBrace || byte === openBracket) {
      depth += 1
      if (depth > maxDepth) return true
    } else if (byte === closeBrace || byte === closeBracket) depth -= 1
  }
  return false
}

/**
 * Closes the connection if a JSON body does not arrive in time. Otherwise a client without a token could hold a
 * connection for days by sending single bytes. Uploads are not JSON; the server's own time limit ends uploads that
 * stall.
 */
export function bodyDeadline(milliseconds: number): RequestHandler {
  return (request, _response, next) => {
    if (request.is('application/json')) {
      const timer = setTimeout(() => request.socket.destroy(), milliseconds)
      request.once('end', () => clearTimeout(timer)).once('close', () => clearTimeout(timer))
    }
    next()
  }
}
