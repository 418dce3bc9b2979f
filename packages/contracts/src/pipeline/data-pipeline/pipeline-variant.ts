import { Type, type TProperties } from 'typebox'
import { noUnknownFields, defineContract } from '../../contract.ts'
import { defineRequestBody } from '../../field-types.ts'
import { baseFields, baseIgnored, baseResponse, sourceBody } from './base-fields.ts'
import type { PipelineType } from './connector-types.ts'

interface VariantFields<RequestFields extends TProperties, ResponseFields extends TProperties> {
  requestFields: RequestFields
  responseFields: ResponseFields
  /** Response fields that a body may also contain. There they are ignored. */
  ignored?: readonly string[]
}

/**
 * Returns the contracts of one pipeline type: the request body, with `type` or as clients may send it, the source for
 * previews, and the response. `ownFields` are the names of the body fields that not every type has.
 */
export function definePipelineVariant<
  const Token extends PipelineType,
  RequestFields extends TProperties,
  ResponseFields extends TProperties,
>(token: Token, { requestFields, responseFields, ignored = [] }: VariantFields<RequestFields, ResponseFields>) {
  const type = Type.Literal(token)
  const title = titleOf(token)
  const ignoredInBody = [...baseIgnored, ...ignored]
  return {
    type: token,
    ownFields: Object.keys(requestFields),
    body: defineContract(
      `${title}PipelineBody`,
      defineRequestBody({ ...baseFields, type, ...requestFields }, ignoredInBody),
    ),
    /** The body as clients send it. `type` is optional, because the service can infer it from the other fields. */
    sent: defineContract(
      `${title}PipelineBody`,
      defineRequestBody({ ...baseFields, type: Type.Optional(type), ...requestFields }, ignoredInBody),
    ),
    source: defineContract(`${title}SourceBody`, sourceBody({ type, ...requestFields }, ignored)),
    resource: defineContract(
      `${title}Pipeline`,
      Type.Object({ ...baseResponse, type, ...responseFields }, noUnknownFields),
    ),
  }
}

/** Returns the OpenAPI title of a type: `CsvUpload` for CSV_UPLOAD. */
const titleOf = (token: PipelineType): string =>
  token
    .toLowerCase()
    .split('_')
    .map((word) => word[0]!.toUpperCase() + word.slice(1))
    .join('')
