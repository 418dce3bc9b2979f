import { SourceProblem } from '../../source.ts'
import { strange } from '../http/answers.ts'
import { parseJson } from '../tables/exact-numbers.ts'
import { mostInRecord } from '../tables/json-limits.ts'

/** Resources that are given at once; characters after which no more are taken along, which may come to a million values; and those that one may have. */
const batch = 200
const mostInBatch = 4_000_000
const longest = 32_000_000

/**
 * The resources of a file of lines, without their type. Throws `SourceProblem` OTHER_PROTOCOL for what is none, and ANSWER_TOO_LARGE
 * for one of too many values.
 */
export async function* resourceLines(
  chunks: AsyncIterable<Buffer>,
  type: string,
): AsyncGenerator<unknown[], void, void> {
  const decoder = new TextDecoder()
  let records: unknown[] = []
  let characters = 0
  let rest = ''

  function take(line: string): void {
    if (line.trim() === '') return
    let resource: unknown
    try {
      resource = parseJson(line, mostInRecord)
    } catch (error) {
      if (error instanceof SourceProblem) throw error
      throw strange('FHIR', 'a resource in each line of its export')
    }
    if (typeof resource !== 'object' || resource === null)
      throw strange('FHIR', 'a resource in each line of its export')
    const { resourceType, ...fields } = resource as Record<string, unknown>
    if (resourceType !== type) return
    records.push(fields)
    characters += line.length
  }

  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop()!
    if (rest.length > longest) throw strange('FHIR', 'an end of a line in its export')
    for (const line of lines) {
      take(line)
      if (records.length < batch && characters < mostInBatch) continue
      yield records
      records = []
      characters = 0
    }
  }
  take(rest + decoder.decode())
  if (records.length > 0) yield records
}
