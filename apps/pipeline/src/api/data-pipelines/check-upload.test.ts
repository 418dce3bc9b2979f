import { Socket } from 'node:net'
import { problems } from '@sluice/http-server'
import { describe, expect, it } from '@jest/globals'
import { SourceProblem } from '@sluice/row-stream'
import { checkUpload } from './check-upload.ts'

/** Checks an upload whose preview throws `error`. */
const checkWith = (error: Error) =>
  checkThrough(async () => {
    throw error
  })

async function checkThrough(preview: () => Promise<unknown>) {
  const logged: unknown[] = []
  const input = {
    sources: { preview },
    warehouses: { find: async () => undefined },
    caller: { client: 'a client' },
    request: { stream: { socket: new Socket() } },
    logger: { error: ({ err }: { err: unknown }) => logged.push(err) },
  }
  const pipeline = { type: 'CSV_UPLOAD', settings: {} }
  return {
    answer: await checkUpload(input as never, pipeline as never, { uid: 'a', name: 'a.csv', sha256: 'f' }),
    logged,
  }
}

describe('check of an uploaded file', () => {
  it('reports that the check was skipped and the reason', async () => {
    for (const [error, why] of [
      [problems.busy('Too many previews.'), 'too many previews are running'],
      [problems.refused('/', 'The source gave too little.'), 'the check took too long'],
    ] as const) {
      const checkSkipped = `The file was stored without a check, because ${why}. The next run reads the whole file and reports its problems.`
      expect(await checkWith(error)).toEqual({ answer: { checkSkipped }, logged: [] })
    }
    const long = new SourceProblem('PREVIEW_TOO_LARGE', 'The first record is not complete.')
    expect(await checkWith(long)).toMatchObject({ answer: { checkSkipped: 'The first record is not complete.' } })
  })

  it('is skipped without a log entry while the organisation has too many previews', async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>()
    const maxSavedAtOnce = 22
    const checks = Array.from({ length: maxSavedAtOnce }, () => checkThrough(() => promise))
    const checkSkipped =
      'The file was stored without a check, because too many previews are running. The next run reads the whole file and reports its problems.'
    expect(await checkThrough(() => promise)).toEqual({ answer: { checkSkipped }, logged: [] })
    resolve({ columns: [], rows: [], rejected: [], notes: [], complete: true })
    expect(await Promise.all(checks)).toEqual(checks.map(() => ({ answer: {}, logged: [] })))
  })

  it('logs an unexpected error and reports the check as skipped', async () => {
    const error = new Error('a bug')
    expect(await checkWith(error)).toEqual({
      answer: { checkSkipped: expect.stringMatching(/an internal error/) },
      logged: [error],
    })
  })
})
