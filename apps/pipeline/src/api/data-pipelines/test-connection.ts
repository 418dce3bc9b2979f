import { systems, type ResultEnvelope, type SourceBody } from '@sluice/contracts'
import { problems, type OperationInput } from '@sluice/http-server'
import type { PipelineContext } from '../operation.ts'
import { dataPipelines } from './records.ts'
import { type RequestedSource, requestedSource, savedSource, withVariables } from './pipeline-source.ts'
import type { KnownType } from '@sluice/connectors/settings/connector-definition'
import { getDefinition } from '@sluice/connectors/registry/definitions'
import { resultEnvelope } from '../result-envelope.ts'
import { shares } from '../shares.ts'
import { whileConnected } from '../while-connected.ts'

type TestSourceRequest = OperationInput<PipelineContext, '/data-pipelines/test-connection', undefined, SourceBody>
type TestConnectionRequest = OperationInput<
  PipelineContext,
  '/data-pipelines/:uid/test-connection',
  undefined,
  undefined
>

/** Milliseconds. */
const longest = 30_000

/** Tests a source that may not be saved yet. */
export async function testSource(input: TestSourceRequest): Promise<ResultEnvelope> {
  const definition = getDefinition(input.body.type)
  if (!definition.assertConnection) throw nothingToReach()
  // A body that cannot be saved must not pass the test.
  definition.assertSettings?.(input.body)
  return test(input, await requestedSource(input))
}

/** Tests the saved source of a pipeline. Takes the right to change it, because the test uses its password. */
export async function testConnection(input: TestConnectionRequest): Promise<ResultEnvelope> {
  const row = await dataPipelines.readToWrite(input.db, input.caller, input.params.uid, undefined)
  if (!getDefinition(row.type).assertConnection) throw nothingToReach()
  return test(input, await savedSource(input, row))
}

async function test(
  input: Pick<TestConnectionRequest, 'sources' | 'caller' | 'request' | 'db' | 'keyRing'>,
  reading: RequestedSource,
): Promise<ResultEnvelope> {
  const { sources, caller, request } = input
  const system = whoAnswers(reading.type as KnownType)
  const late = (): { code: string; message: string; cause?: string } => ({
    code: 'CONNECTION_TIMEOUT',
    message: `${system} did not answer in full within ${longest / 1000} seconds.`,
  })
  const wrong = await withVariables(input, reading, async (ready, hide) => {
    const found = await whileConnected(
      { socket: request.stream.socket, queue: shares.connectionTests.queueOf(caller.client), longest, late },
      (signal) => sources.testConnection(ready, signal),
    )
    return found && { ...found, message: hide(found.message), cause: found.cause && hide(found.cause) }
  })
  if (!wrong) return resultEnvelope({ area: 'source', message: `${system} answers, and takes these credentials.` })
  const { code: errorCode, message, cause } = wrong
  return resultEnvelope({ area: 'source', status: 'ERROR', errorCode, message, cause })
}

/** The name of a system. For types of several systems, the address decides. */
export const whoAnswers = (type: KnownType): string => systems[type].replace(' and ', ' or ')

const nothingToReach = () =>
  problems.refused('/type', 'Such a pipeline loads a file that is uploaded: there is nothing to connect to.')
