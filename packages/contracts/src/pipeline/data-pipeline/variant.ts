import { Type, type TProperties } from 'typebox'
import { closed, contract } from '../../contract.ts'
import { body } from '../../named.ts'
import { baseFields, baseIgnored, baseResponse, sourceBody, type PipelineType } from './base.ts'

/** The fields of one pipeline type besides the common fields. */
interface Own<Given extends TProperties, Answered extends TProperties> {
  /** Read from a body. */
  given: Given
  /** Answered. */
  answered: Answered
  /** Response fields that a body may contain and that are ignored. */
  ignored?: readonly string[]
}

/** The contracts of one type of pipeline: its body, its source before anything is saved, and itself as it is answered. */
export function variant<const Token extends PipelineType, Given extends TProperties, Answered extends TProperties>(
  token: Token,
  { given, answered, ignored = [] }: Own<Given, Answered>,
) {
  const type = Type.Literal(token)
  const title = titleOf(token)
  const ignoredInBody = [...baseIgnored, ...ignored]
  return {
    type: token,
    own: Object.keys(given),
    body: contract(`${title}PipelineBody`, body({ ...baseFields, type, ...given }, ignoredInBody)),
    /** The body as a client sends it. The type is optional if other fields identify it. */
    sent: contract(`${title}PipelineBody`, body({ ...baseFields, type: Type.Optional(type), ...given }, ignoredInBody)),
    source: contract(`${title}SourceBody`, sourceBody({ type, ...given }, ignored)),
    resource: contract(`${title}Pipeline`, Type.Object({ ...baseResponse, type, ...answered }, closed)),
  }
}

/** SQL_DATABASE_A is SqlDatabaseA. */
const titleOf = (token: PipelineType): string =>
  token
    .toLowerCase()
    .split('_')
    .map((word) => word[0]!.toUpperCase() + word.slice(1))
    .join('')
