import { Socket } from 'node:net'
import { problems } from '@sluice/http'
import { describe, expect, it } from '@jest/globals'
import { SourceProblem } from '../../engine/sources/source.ts'
import { checkUpload } from './check-upload.ts'

/** Checks an upload whose preview throws `error`. */
async function checkWith(error: Error) {
  const logged: unknown[] = []
  const input = {
    sources: {
      async preview() {
        throw error
      },
    },
    warehouses: { find: async () => undefined },
    caller: { client: 'a client' },
    request: { stream: { socket: new Socket() } },
    logger: { error: ({ err }: { err: unknown }) => logged.push(err) },
  }
  const pipeline = { type: 'CSV_UPLOAD', settings: {} }
  return { answer: await checkUpload(input as never, pipeline as never, { uid: 'a', name: 'a.csv' }), logged }
}

describe('the check of an upload', () => {
  it('says that it was skipped, and why', async () => {
    for (const [error, why] of [
      [problems.busy('Too many previews.'), 'other previews are running'],
      [problems.refused('/', 'The source gave too little.'), 'the check took too long'],
    ] as const) {
      const checkSkipped = `The file was stored without a check, because ${why}.`
      expect(await checkWith(error)).toEqual({ answer: { checkSkipped }, logged: [] })
    }
    const long = new SourceProblem('PREVIEW_TOO_LARGE', 'The first record is not complete.')
    expect(await checkWith(long)).toMatchObject({ answer: { checkSkipped: 'The first record is not complete.' } })
  })

  it('logs an unexpected error', async () => {
    const error = new Error('a bug')
    expect(await checkWith(error)).toEqual({
      answer: { checkSkipped: expect.stringMatching(/the check failed/) },
      logged: [error],
    })
  })
})
