import { isUtf8 } from 'node:buffer'
import express, { type Request, type Response } from 'express'
import { tooDeep } from './depth.ts'
import { problems } from './problem.ts'
import { holdsHalfPair, holdsNul } from './unstorable-json.ts'

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
  if (holdsNul(body)) throw problems.unreadableBody('It holds a NUL byte.')
  if (tooDeep(body)) throw problems.unreadableBody('It nests deeper than 32 levels.')
  if (holdsHalfPair(body)) throw problems.unreadableBody('It holds half a surrogate pair (\\ud800 to \\udfff alone).')
}
