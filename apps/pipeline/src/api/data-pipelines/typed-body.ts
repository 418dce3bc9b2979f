import { checkPipelineBody, pipelineTypesOf, type DataPipelineBody, type SentDataPipelineBody } from '@sluice/contracts'
import { problems } from '@sluice/http'

/**
 * The body of a pipeline with its type. One that is sent without a type has that of the pipeline that it replaces, else the only one that
 * its fields fit. Throws a problem where they fit none or several.
 */
export async function typedBody(
  sent: SentDataPipelineBody,
  storedType?: () => Promise<string | undefined>,
): Promise<DataPipelineBody> {
  if (hasType(sent)) return sent
  const checked = checkPipelineBody((await storedType?.()) ?? onlyTypeOf(sent), sent)
  if ('violations' in checked) throw problems.violated(checked)
  return checked.value
}

const hasType = (sent: SentDataPipelineBody): sent is DataPipelineBody => (sent.type ?? undefined) !== undefined

function onlyTypeOf(sent: SentDataPipelineBody): string {
  const [type, ...others] = pipelineTypesOf(sent)
  if (type === undefined)
    throw problems.malformed([{ pointer: '/type', detail: 'is required: the other fields fit no type of pipeline' }])
  if (others.length > 0)
    throw problems.refused('/type', `The fields fit several types. Set one: ${[type, ...others].join(', ')}.`)
  return type
}
