import { describe, expect, it } from '@jest/globals'
import { readResourceLines } from '../bulk-export.ts'
import { readJsonRecords } from '../../bhima/json-records.ts'

describe('records that are large', () => {
  async function* inChunks(texts: Iterable<string>) {
    for (const text of texts) yield Buffer.from(text)
  }
  const large = 'x'.repeat(1_000_000)

  it('of a list of JSON are given before they are more than a few', async () => {
    const texts = ['[', ...Array.from({ length: 9 }, (_, id) => `${id > 0 ? ',' : ''}{"id":${id},"a":"${large}"}`), ']']
    const batches: number[] = []
    for await (const records of readJsonRecords(inChunks(texts), 'Example')) batches.push(records.length)
    expect(batches).toEqual([4, 4, 1])
  })

  it('of lines of FHIR as well', async () => {
    const line = (id: number) => `{"resourceType":"Patient","id":"${id}","a":"${large}"}\n`
    const batches: number[] = []
    for await (const records of readResourceLines(inChunks(Array.from({ length: 9 }, (_, id) => line(id))), 'Patient'))
      batches.push(records.length)
    expect(batches).toEqual([4, 4, 1])
  })

  it.each(['null', '7', '{"resourceType":'])('of lines of FHIR are refused where one is %s', async (line) => {
    const reading = readResourceLines(inChunks([`${line}\n`]), 'Patient')
    await expect(reading.next()).rejects.toMatchObject({ name: 'SourceProblem', code: 'OTHER_PROTOCOL' })
  })
})
