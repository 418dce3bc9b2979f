import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import { connected, superuserUrl } from '@sluice/warehouses/testing/scratch-warehouse'
import fc from 'fast-check'
import { toStoredJson } from './stored-json.ts'

let client: Awaited<ReturnType<typeof connected>>
beforeAll(async () => void (client = await connected(superuserUrl())))
afterAll(async () => client?.end())

it('toStoredJson returns JSON that jsonb stores, with every other character', async () => {
  const unit = fc.constantFrom('\0', String.raw`\u0000`, '\\', '"', 'u0000', '\ud800', '\udc00', 'é', 'a')
  const text = fc.array(unit, { maxLength: 6 }).map((units) => units.join(''))
  await fc.assert(
    fc.asyncProperty(fc.array(fc.record({ to: text })), async (changes) => {
      const { rows } = await client.query('select $1::jsonb as stored', [toStoredJson(changes, { nul: '␀' })])
      const expected = changes.map(({ to }) => ({ to: to.toWellFormed().replaceAll('\0', '␀') }))
      expect(rows).toEqual([{ stored: expected }])
    }),
    { numRuns: drawCount({ short: 30, long: 1_000 }) },
  )
})
