import { connectorNames, type ResultEnvelope, type SourceBody } from '@sluice/contracts'
import { problems, type OperationInput } from '@sluice/http-server'
import type { PipelineContext } from '../operation-context.ts'
import { dataPipelines } from './records.ts'
import { type RequestedSource, readRequestedSource, readSavedSource, withVariables } from './pipeline-source.ts'
import type { KnownType } from '@sluice/connectors/settings/connector-definition'
import { getDefinition } from '@sluice/connectors/registry/connector-definitions'
import { createResultEnvelope } from '../result-envelope.ts'
import { requestSlots } from '../concurrency-limits.ts'
import { runWhileConnected } from '../abort-on-disconnect.ts'

type TestSourceRequest = OperationInput<PipelineContext, '/data-pipelines/test-connection', undefined, SourceBody>
type TestConnectionRequest = OperationInput<
  PipelineContext,
  '/data-pipelines/:uid/test-connection',
  undefined,
  undefined
>

const testTimeoutMs = 30_000

export async function testSource(input: TestSourceRequest): Promise<ResultEnvelope> {
  const definition = getDefinition(input.body.type)
  if (!definition.assertConnection) throw noConnectionToTest()
  // A body that cannot be saved must not pass the test.
  definition.assertSettings?.(input.body)
  return runTest(input, await readRequestedSource(input))
}

/**
 * Tests the saved source of a pipeline. The caller must be allowed to change it, because the test uses its password.
 */
export async function testConnection(input: TestConnectionRequest): Promise<ResultEnvelope> {
  const row = await dataPipelines.readToWrite(input.db, input.caller, input.params.uid, undefined)
  if (!getDefinition(row.type).assertConnection) throw noConnectionToTest()
  return runTest(input, await readSavedSource(input, row))
}

async function runTest(
  input: Pick<TestConnectionRequest, 'sources' | 'caller' | 'request' | 'db' | 'keyRing'>,
  reading: RequestedSource,
): Promise<ResultEnvelope> {
  const { sources, caller, request } = input
  const system = formatSystemName(reading.type as KnownType)
  const onTimeout = (): { code: string; message: string; cause?: string } => ({
    code: 'CONNECTION_TIMEOUT',
    message: `${system} did not respond completely within ${testTimeoutMs / 1000} seconds. Check the address and the network.`,
  })
  const connectionProblem = await withVariables(input, reading, async (filledReading, redact) => {
    const problem = await runWhileConnected(
      { request, queue: requestSlots.connectionTests.queueOf(caller.client), timeoutMs: testTimeoutMs, onTimeout },
      (signal) => sources.testConnection(filledReading, signal),
    )
    if (!problem) return undefined
    const { message, cause } = problem
    return { ...problem, message: redact.sentence(message), cause: cause && redact.sentence(cause) }
  })
  if (!connectionProblem)
    return createResultEnvelope({ area: 'source', message: `${system} answered and accepted these credentials.` })
  const { code: errorCode, message, cause } = connectionProblem
  return createResultEnvelope({ area: 'source', status: 'ERROR', errorCode, message, cause })
}

/** Formats the name of a system. A type can stand for several systems; its address determines which one answers. */
export const formatSystemName = (type: KnownType): string => connectorNames[type].replace(' and ', ' or ')

const noConnectionToTest = () =>
  problems.refused('/type', 'A pipeline of this type loads an uploaded file, so it has no connection to test.')
