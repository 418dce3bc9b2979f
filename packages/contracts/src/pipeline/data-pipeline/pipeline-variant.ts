import { Type, type TProperties } from 'typebox'
import { noUnknownFields, defineContract } from '../../contract.ts'
import { defineRequestBody } from '../../field-types.ts'
import { baseFields, baseIgnored, baseResponse, sourceBody } from './base-fields.ts'
import type { PipelineType } from './connector-types.ts'

interface VariantFields<Given extends TProperties, Answered extends TProperties> {
  /** Body fields. */
  given: Given
  /** Response fields. */
  answered: Answered
  /** Response fields that a body may also contain. There they are ignored. */
  ignored?: readonly string[]
}

/** Returns the contracts of one pipeline type: the body, the source for previews, and the response. */
export function definePipelineVariant<
  const Token extends PipelineType,
  Given extends TProperties,
  Answered extends TProperties,
>(token: Token, { given, answered, ignored = [] }: VariantFields<Given, Answered>) {
  const type = Type.Literal(token)
  const title = titleOf(token)
  const ignoredInBody = [...baseIgnored, ...ignored]
  return {
    type: token,
    own: Object.keys(given),
    body: defineContract(`${title}PipelineBody`, defineRequestBody({ ...baseFields, type, ...given }, ignoredInBody)),
    /** The body as clients send it. `type` is optional if other fields identify it. */
    sent: defineContract(
      `${title}PipelineBody`,
      defineRequestBody({ ...baseFields, type: Type.Optional(type), ...given }, ignoredInBody),
    ),
    source: defineContract(`${title}SourceBody`, sourceBody({ type, ...given }, ignored)),
    resource: defineContract(`${title}Pipeline`, Type.Object({ ...baseResponse, type, ...answered }, noUnknownFields)),
  }
}

/** Returns the OpenAPI title of a type: `CsvUpload` for CSV_UPLOAD. */
const titleOf = (token: PipelineType): string =>
  token
    .toLowerCase()
    .split('_')
    .map((word) => word[0]!.toUpperCase() + word.slice(1))
    .join('')
