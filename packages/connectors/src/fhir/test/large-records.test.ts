import { describe, expect, it } from '@jest/globals'
import { readResourceLines } from '../bulk-export.ts'
import { readJsonRecords } from '../../bhima/json-records.ts'

describe('batches of large records', () => {
  async function* inChunks(texts: Iterable<string>) {
    for (const text of texts) yield Buffer.from(text)
  }
  const large = 'x'.repeat(1_000_000)

  it('have at most four records of 1 MB when read from a JSON list', async () => {
    const texts = ['[', ...Array.from({ length: 9 }, (_, id) => `${id > 0 ? ',' : ''}{"id":${id},"a":"${large}"}`), ']']
    const batches: number[] = []
    for await (const records of readJsonRecords(inChunks(texts), 'Example')) batches.push(records.length)
    expect(batches).toEqual([4, 4, 1])
  })

  it('have at most four records of 1 MB when read from FHIR NDJSON', async () => {
    const line = (id: number) => `{"resourceType":"Patient","id":"${id}","a":"${large}"}\n`
    const batches: number[] = []
    for await (const records of readResourceLines(inChunks(Array.from({ length: 9 }, (_, id) => line(id))), 'Patient'))
      batches.push(records.length)
    expect(batches).toEqual([4, 4, 1])
  })

  it.each(['null', '7', '{"resourceType":'])('are rejected if a line of FHIR NDJSON is %s', async (line) => {
    const reading = readResourceLines(inChunks([`${line}\n`]), 'Patient')
    await expect(reading.next()).rejects.toMatchObject({ name: 'SourceProblem', code: 'OTHER_PROTOCOL' })
  })
})
