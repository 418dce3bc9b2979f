import type { ConnectorDefinition, KnownType } from '../settings/connector-definition.ts'
import { connectors } from './connectors.ts'

/** A definition for code that does not depend on the pipeline type. */
export type AnyDefinition = ConnectorDefinition<KnownType, any>

/** Loaded when the API starts, so that a request never waits for a module. */
const definitions = new Map<string, AnyDefinition>(
  await Promise.all(
    Object.entries(connectors).map(
      async ([type, { define }]) => [type, (await define()) as unknown as AnyDefinition] as const,
    ),
  ),
)

/** Undefined for a type that only a later version has. */
export const findDefinition = (type: string): AnyDefinition | undefined => definitions.get(type)

/** Throws for a type that only a later version has. */
export function getDefinition(type: string): AnyDefinition {
  const definition = definitions.get(type)
  if (!definition) throw new Error(`This version has no data pipelines of type ${type}.`)
  return definition
}
