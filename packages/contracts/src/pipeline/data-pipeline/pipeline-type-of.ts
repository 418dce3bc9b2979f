import { checker, type Checked } from '../../validate.ts'
import type { PipelineType } from './base.ts'
import { pipelineVariants, type DataPipelineBody } from './data-pipeline.ts'

const checkers = new Map<string, (body: unknown) => Checked<DataPipelineBody>>(
  pipelineVariants.map(({ type, body }) => [type, checker<DataPipelineBody>(body as object)]),
)

/** Checks a body as one of this type, whatever type it names. */
export function checkPipelineBody(type: string, body: object): Checked<DataPipelineBody> {
  const check = checkers.get(type)
  if (!check) throw new Error(`There is no type of pipeline ${type}.`)
  return check({ ...body, type })
}

/**
 * Returns the pipeline types that fit a body without a type: those that allow all of its fields and require no others. If the names of
 * the fields fit several types, the values decide.
 */
export function pipelineTypesOf(body: object): PipelineType[] {
  const given = Object.entries(body).flatMap(([name, value]) => (value === null || name === 'type' ? [] : [name]))
  const byName = pipelineVariants.filter(({ body: { properties, required } }) => {
    const needed = (required as string[]).filter((name) => name !== 'type')
    return given.every((name) => Object.hasOwn(properties, name)) && needed.every((name) => given.includes(name))
  })
  const types = byName.map(({ type }) => type)
  if (types.length < 2) return types
  const byValue = types.filter((type) => 'value' in checkPipelineBody(type, body))
  return byValue.length > 0 ? byValue : types
}
