import { isUtf8 } from 'node:buffer'
import express, { type Request, type RequestHandler, type Response } from 'express'
import { problems } from './problem.ts'

/** Bytes of a JSON body. A caller without a token sends a password or a link, which is little. */
const limits = { known: 1_048_576, anonymous: 16_384 }

/** Nothing is decompressed: a body of a kilobyte would cost the time of a megabyte. */
const parser = (limit: number) =>
  express.json({ limit, inflate: false, strict: false, type: 'application/json', verify: assertPlainJson })
const parsers = { known: parser(limits.known), anonymous: parser(limits.anonymous) }

/**
 * Reads and parses a JSON body into `request.body`. Called once the caller is known and allowed, so that nobody else's body costs anything.
 * Throws problems: 400, 413, and 415 for a compressed body.
 */
export async function readJsonBody(request: Request, response: Response, sender: keyof typeof limits): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    parsers[sender](request, response, (error?: unknown) => (error === undefined ? resolve() : reject(error)))
  })
}

/** Looks at the bytes as they came, so the encoding must be the one in which they mean something. */
function assertPlainJson(_request: unknown, _response: unknown, body: Buffer, charset: string): void {
  if (charset !== 'utf-8') throw problems.unsupportedMediaType('application/json in UTF-8')
  if (!isUtf8(body)) throw problems.unreadableBody('It is not valid UTF-8.')
  if (containsNul(body)) throw problems.unreadableBody('It holds a NUL byte.')
  if (isTooDeep(body)) throw problems.unreadableBody('It nests deeper than 32 levels.')
  if (hasLoneSurrogate(body))
    throw problems.unreadableBody('It holds half a surrogate pair (\\ud800 to \\udfff alone).')
}

/** Does JSON text hold a NUL character, as it is or escaped? PostgreSQL can store neither. Looked at before it is parsed. */
export function containsNul(json: Buffer): boolean {
  if (json.includes(0)) return true
  // The backslash may itself be escaped: then it is text about NUL.
  return json.includes(String.raw`\u0000`) && /(?<!\\)(?:\\\\)*\\u0000/.test(json.toString('latin1'))
}

const escapes = /\\(?:u([\da-f]{4})|.)/gi

/**
 * Does JSON text, which is valid UTF-8, hold half a surrogate pair? Only an escape can; PostgreSQL can store none. Looked at
 * before it is parsed, because to look at every value afterwards takes a hundred times as long.
 */
export function hasLoneSurrogate(json: Buffer): boolean {
  if (!json.includes(String.raw`\ud`) && !json.includes(String.raw`\uD`)) return false
  const text = json.toString('latin1')
  /** Where a high half ends, which a low one has to follow at once; -1: none. */
  let open = -1
  for (const { 0: all, 1: unit, index } of text.matchAll(escapes)) {
    const value = unit === undefined ? 0 : Number.parseInt(unit, 16)
    const low = value >= 0xdc00 && value <= 0xdfff
    if (open >= 0 ? !low || index !== open : low) return true
    open = value >= 0xd800 && value < 0xdc00 ? index + all.length : -1
  }
  return open >= 0
}

/** Deeper than any contract of ours, and far from what would exhaust the stack of a validator. */
const maxDepth = 32

/** Does JSON text nest deeper than we take? Looked at before it is parsed. */
export function isTooDeep(json: Uint8Array): boolean {
  let depth = 0
  let inString = false
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (inString) {
      if (byte === 0x5c) at++
      else if (byte === 0x22) inString = false
    } else if (byte === 0x22) inString = true
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > maxDepth) return true
    } else if (byte === 0x7d || byte === 0x5d) depth--
  }
  return false
}

/**
 * JSON bodies are small, so they must be here in time: a peer that sends a byte now and then would hold a connection for
 * days, and needs no token for it. Its connection is ended. Uploads are not JSON; they end by the server's own time-out when they stall.
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
